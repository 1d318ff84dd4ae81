import Futures

/// What a workflow and the one inside it have to tell each other: letters that are
/// read in order, by one thread at a time.
///
///     unread ── a thread comes ──▶ being read ── none is left ──▶ unread
///                                   │      ▲
///           a stop has been written │      │ all stops are read
///                                   ▼      │
///                                  left to those who wrote them
///
/// So the inner workflow is never told of a run, a reset or a cancellation that
/// is overtaken by a later one which another thread has told it already.
///
/// Only stops (cancel and reset) are read by whoever brings them, ahead of what
/// lies before them: a run or news from before a stop mean nothing after it.
/// The thread that has cancelled or reset the task finds the inner workflow so when
/// its call returns. Each stop is read once: a start that is under way meanwhile
/// starts nothing.
struct SubworkflowMailbox {
  enum Letter {
    /// The task has come to its turn.
    case run(UInt32)
    case cancel
    case reset
    /// From inside.
    case news(Delivery)
    /// From inside, too: nothing goes on any more, and nothing has ended.
    case stuck(run: UInt32)
    /// Read already.
    case done

    var isStop: Bool {
      switch self {
      case .cancel, .reset: true
      case .run, .news, .stuck, .done: false
      }
    }
  }

  private var letters: ContiguousArray<Letter> = []
  private var firstUnread = 0
  private var isBeingRead = false
  /// The reader has gone: stops are to be read first.
  private var isLeft = false
  /// Somebody reads stops.
  private var isHelped = false
  /// Stops whose writers have not come yet to read them.
  private var expectedWriters = 0
  private var unreadStops = 0
  /// When the inner workflow was last told to cancel, and had.
  private(set) var cancelTime: UInt64 = 0
  /// The next run retries what it finds failed or cancelled.
  var owesRetry = false
  /// When the task was retried last.
  var retryTime: UInt64 = 0
  /// The last run whose letter was read; what happens inside is its doing.
  var begunRun: UInt32 = 0
  /// The task is being cancelled because an inner task was.
  var isCancelledFromInside = false

  var hasUnreadStops: Bool { unreadStops > 0 }

  mutating func put(_ letter: Letter) {
    letters.append(letter)
    guard letter.isStop else { return }
    unreadStops += 1
    expectedWriters += 1
  }

  /// The inner workflow has been told.
  mutating func stopWasRead(_ letter: Letter) {
    unreadStops -= 1
    if case .cancel = letter { cancelTime = WorkflowClock.now }
  }

  /// The next letter for the reader, or for who is to be the reader.
  mutating func next(isReader: Bool) -> Letter? {
    guard isBeingRead == isReader else { return nil }
    if isHelped || expectedWriters > 0 {
      (isBeingRead, isLeft) = (true, true)
      return nil
    }
    while firstUnread < letters.count {
      defer { firstUnread += 1 }
      if case .done = letters[firstUnread] { continue }
      isBeingRead = true
      let letter = letters[firstUnread]
      letters[firstUnread] = .done  // (Released where it has been read.)
      return letter
    }
    letters.removeAll(keepingCapacity: letters.count < 64)
    (firstUnread, isBeingRead) = (0, false)
    return nil
  }

  /// A writer has come.
  mutating func writerHasCome() { expectedWriters -= 1 }

  /// The next stop for a thread that is not the reader.
  ///
  /// - Returns: The stop, if there is one; and if there is none, whether the thread
  ///   is the reader now.
  mutating func nextStop(isHelper: Bool) -> (stop: Letter?, isReader: Bool) {
    guard isBeingRead, isHelped == isHelper else { return (nil, false) }
    var place = firstUnread
    while hasUnreadStops, place < letters.count, !letters[place].isStop { place += 1 }
    isHelped = hasUnreadStops && place < letters.count
    if isHelped {
      let stop = letters[place]
      letters[place] = .done
      return (stop, false)
    }
    guard isLeft, expectedWriters == 0 else { return (nil, false) }
    isLeft = false
    return (nil, true)
  }
}
