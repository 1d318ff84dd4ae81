/// Decides when permits are given out, for many keys, as a pure value.
///
/// Each key in use has a *bucket*. The bucket keeps the time at which its permits would be
/// used up if they were used no faster than the rate allows (the generic cell rate
/// algorithm). A permit is available while that time is at most the burst away; taking a
/// permit moves that time on by one interval. A bucket whose time has passed and whose line
/// is empty can be dropped.
///
///   bucket:  idle ── request, no permit ──▶ waiting (a timer runs) ── timeIsUp ──▶ ...
///              ▲                               │
///              └── the line is empty ──────────┘
///
/// Each timer has a number. A timer that is out of date has no effect.
struct RateMachine<Key: Hashable, Member> {
  /// What the caller does after an event.
  struct Action {
    /// The members that get permits, in their order.
    var granted: [Member] = []
    /// The timer to start, and how long it runs.
    var timer: (id: Int, delay: Duration)?
    /// The timer to cancel; it may have rung.
    var oldTimer: AnyFuture?
    /// What was removed, for release after unlocking.
    var removed: [Key] = []
  }

  private struct Bucket {
    /// When the permits that were given out are used up.
    var usedUp: Duration
    var line = WaitingLine<Member>()
    /// The number of the timer that runs; `nil` if none does.
    var timerID: Int?
    var timer: AnyFuture?
  }

  /// The part that all buckets share.
  private struct Rate {
    /// The time between two permits.
    let interval: Duration
    /// How far ahead of the rate a burst may be.
    let tolerance: Duration
    var pausedUntil = Duration.zero
    var lastTimerID = 0

    /// When the next permit of a bucket becomes available.
    func nextTime(_ bucket: borrowing Bucket) -> Duration {
      max(bucket.usedUp - tolerance, pausedUntil)
    }

    /// Takes a permit; `false` if none is available now.
    func take(_ bucket: inout Bucket, _ now: Duration) -> Bool {
      guard now >= nextTime(bucket) else { return false }
      bucket.usedUp = max(bucket.usedUp, now) + interval
      return true
    }

    mutating func startTimer(
      _ bucket: inout Bucket, _ now: Duration
    ) -> (id: Int, delay: Duration) {
      lastTimerID += 1
      bucket.timerID = lastTimerID
      return (lastTimerID, nextTime(bucket) - now)
    }
  }

  private var rate: Rate
  private var buckets: [Key: Bucket] = [:]
  private var limit = 16
  /// A caller that is late would otherwise wait for a time that has passed.
  private var latest = LatestTime()

  init(interval: Duration, burst: Int) {
    let (product, isTooLong) = interval.attoseconds.multipliedReportingOverflow(
      by: Int128(max(burst, 1) - 1))
    // Of all times only this one may be longer than a century. Sums of it do not overflow.
    let tolerance = Duration(attoseconds: isTooLong ? .max / 4 : min(product, .max / 4))
    rate = Rate(interval: interval, tolerance: tolerance)
  }

  var waitingCount: Int { buckets.values.reduce(0) { $0 + $1.line.count } }

  /// The number of keys that have a bucket.
  var bucketCount: Int { buckets.count }

  /// The number of members of a key in front of a member; `nil` if it is not in the line.
  func countInFront(of ticket: Int, _ key: Key) -> Int? {
    buckets[key]?.line.countInFront(of: ticket)
  }

  // MARK: Events

  /// A member requests a permit; it waits if it gets a ticket.
  mutating func request(
    _ member: Member, _ key: Key, now: Duration
  ) -> (ticket: Int?, action: Action) {
    let now = latest.advance(to: now)
    let removed = sweep(now)
    return change(key, at: now) { bucket, rate in
      if bucket.line.isEmpty, rate.take(&bucket, now) {
        return (nil, Action(granted: [member], removed: removed))
      }
      let ticket = bucket.line.join(member)
      let timer = bucket.timerID == nil ? rate.startTimer(&bucket, now) : nil
      return (ticket, Action(timer: timer, removed: removed))
    }
  }

  /// A member leaves; returns the member, and its timer if that is not needed any more.
  mutating func leave(_ ticket: Int, _ key: Key) -> (member: Member?, timer: AnyFuture?) {
    guard buckets[key] != nil else { return (nil, nil) }
    return change(key, at: .zero) { bucket, _ in
      let member = bucket.line.leave(ticket)
      guard bucket.line.isEmpty else { return (member, nil) }
      bucket.timerID = nil
      return (member, bucket.timer.take())
    }
  }

  /// A timer was started; `false` if it is not needed any more.
  mutating func hasStarted(_ timer: AnyFuture, _ id: Int, _ key: Key) -> Bool {
    guard buckets[key]?.timerID == id else { return false }
    buckets[key]?.timer = timer
    return true
  }

  /// A timer has run out.
  mutating func timeIsUp(_ id: Int, _ key: Key, now: Duration) -> Action {
    guard buckets[key]?.timerID == id else { return Action() }
    return serve(key, now: now)
  }

  /// The clock has failed to time a timer; returns all members of the line.
  mutating func timerHasFailed(_ id: Int, _ key: Key) -> [Member] {
    guard buckets[key]?.timerID == id else { return [] }
    return change(key, at: .zero) { bucket, _ in
      bucket.timer = nil
      bucket.timerID = nil
      return bucket.line.removeAll()
    }
  }

  /// Members that got permits had been cancelled and give them back.
  mutating func giveBack(_ count: Int, _ key: Key, now: Duration) -> Action {
    guard buckets[key] != nil else { return Action() }
    buckets[key]?.usedUp -= rate.interval * count
    return serve(key, now: now)
  }

  mutating func pause(for duration: Duration, now: Duration) {
    rate.pausedUntil = max(rate.pausedUntil, now + duration)
  }

  /// The rest of the longest pause; zero or negative if it is over.
  func remainingPause(now: Duration) -> Duration { rate.pausedUntil - now }

  // MARK: Steps

  private mutating func serve(_ key: Key, now: Duration) -> Action {
    let now = latest.advance(to: now)
    return change(key, at: now) { bucket, rate in
      var action = Action()
      while !bucket.line.isEmpty, rate.take(&bucket, now) {
        if let member = bucket.line.popFirst() { action.granted.append(member) }
      }
      // It has run out, or members that got permits had been cancelled and it runs still.
      action.oldTimer = bucket.timer.take()
      bucket.timerID = nil
      if !bucket.line.isEmpty { action.timer = rate.startTimer(&bucket, now) }
      return action
    }
  }

  /// Changes a bucket in place, because copying a long line is expensive.
  private mutating func change<Output>(
    _ key: Key, at now: Duration, _ body: (inout Bucket, inout Rate) -> Output
  ) -> Output {
    body(&buckets[key, default: Bucket(usedUp: now)], &rate)
  }

  /// Drops idle buckets each time that the number of buckets has doubled.
  private mutating func sweep(_ now: Duration) -> [Key] {
    guard buckets.count >= limit else { return [] }
    var idle: [Key] = []
    // A new table, because the old one would keep its size, and each walk would take as long.
    buckets = buckets.filter { key, bucket in
      let isIdle = bucket.line.isEmpty && bucket.usedUp <= now
      if isIdle { idle.append(key) }
      return !isIdle
    }
    limit = max(16, buckets.count * 2)
    return idle
  }
}
