import Synchronization

/// Counts what a client does.
public final class Activity: Sendable {
  /// The counts at one moment.
  public struct Counts: Sendable, Equatable {
    /// The number of albums; `nil` before the profile is known.
    public var albums: Int?
    /// The answers that were used, and the covers that are missing.
    public var answers = 0
    /// The bytes of the answers that were used.
    public var bytes = 0
    /// The requests that are under way.
    public var pending = 0
    /// The largest number of requests that were under way at a time.
    public var mostPending = 0
    /// All requests that were made.
    public var requests = 0
    /// The requests that were not the first attempt.
    public var retries = 0
  }

  private let counts = Mutex(Counts())

  init() {}

  /// The counts at this moment.
  public var soFar: Counts { counts.withLock { $0 } }

  func albumsFound(_ count: Int) { counts.withLock { $0.albums = count } }

  func requestStarts(isRetry: Bool) {
    counts.withLock { counts in
      counts.requests += 1
      counts.retries += isRetry ? 1 : 0
      counts.pending += 1
      counts.mostPending = max(counts.mostPending, counts.pending)
    }
  }

  func requestEnds() { counts.withLock { $0.pending -= 1 } }

  func coverIsMissing() { counts.withLock { $0.answers += 1 } }

  func received(_ bytes: Int) {
    counts.withLock { counts in
      counts.answers += 1
      counts.bytes += bytes
    }
  }
}
