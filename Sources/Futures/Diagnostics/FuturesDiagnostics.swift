import Foundation
import Synchronization

/// Installs the observer of the process's mistakes.
///
/// ```swift
/// FuturesDiagnostics.install(FailureLog())
/// ```
///
/// Without an observer, the library reads one atomic flag where there is something to report,
/// and does nothing else.
public enum FuturesDiagnostics {
  /// What an installed observer hears, beside failures and promises.
  public struct Configuration: Sendable {
    /// How long a closure may wait for the main queue before that is reported.
    ///
    /// `nil` reports nothing. Less than a millisecond counts as one. While the main queue does not
    /// run, there is about one report in this time.
    public var mainQueueLimit: Duration?

    /// How long a closure may run on a queue or another context before that is reported.
    ///
    /// `nil` measures nothing. A negative time counts as zero, which reports every closure.
    /// Closures that run inline and those of workflow tasks are not measured. The time of an
    /// async closure of `queue.run` includes its awaits.
    public var slowClosureLimit: Duration?

    /// Whether promises that are made from now on are recorded for
    /// ``Promises/pending(olderThan:)``.
    public var recordsPendingPromises: Bool

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - mainQueueLimit: How long a closure may wait for the main queue.
    ///   - slowClosureLimit: How long a closure may run on a queue or another context.
    ///   - recordsPendingPromises: Whether promises are recorded while they are pending.
    public init(
      mainQueueLimit: Duration? = .seconds(10), slowClosureLimit: Duration? = nil,
      recordsPendingPromises: Bool = true
    ) {
      self.mainQueueLimit = mainQueueLimit
      self.slowClosureLimit = slowClosureLimit
      self.recordsPendingPromises = recordsPendingPromises
    }
  }

  /// Installs the observer of the process, in place of the former one.
  ///
  /// A report goes to the observer that is installed when it is delivered.
  ///
  /// - Parameters:
  ///   - observer: Hears of mistakes from now on.
  ///   - configuration: What it hears.
  /// - Returns: The former observer, or `nil` if there was none.
  @discardableResult
  public static func install(
    _ observer: any DiagnosticsObserver, configuration: Configuration = Configuration()
  ) -> (any DiagnosticsObserver)? {
    DiagnosticsHook.replace(with: observer, configuration)
  }

  /// Takes the observer away.
  ///
  /// A report that is being delivered may still end afterwards; later ones are dropped. The
  /// recorded promises are forgotten.
  ///
  /// - Returns: The former observer, or `nil` if there was none.
  @discardableResult
  public static func uninstall() -> (any DiagnosticsObserver)? {
    DiagnosticsHook.replace(with: nil, Configuration(mainQueueLimit: nil))
  }
}

/// The installed observer, and the queue on which it is called.
///
/// A report may be made anywhere: in a `deinit`, within a step of the work loop. So making it
/// takes no lock and calls no other code; a serial queue delivers it.
enum DiagnosticsHook {
  struct Topics: OptionSet {
    let rawValue: UInt8
    static let mistakes = Topics(rawValue: 1)
    static let mainQueue = Topics(rawValue: 2)
    static let slowClosures = Topics(rawValue: 4)
    static let pendingPromises = Topics(rawValue: 8)
    static let trace = Topics(rawValue: 16)
  }

  // Not the library's own atomic type: a schedule that is explored must not depend on these.
  private static let topics = Synchronization.Atomic<UInt8>(0)
  private static let slowNanoseconds = Synchronization.Atomic<UInt64>(.max)
  private static let waiting = Synchronization.Atomic<Int>(0)
  private static let dropped = Synchronization.Atomic<Int>(0)

  private struct Installed {
    var observer: (any DiagnosticsObserver)?
    var mainQueueLimit: Duration?
    var recorder: TraceRecorder?
  }

  private static let installed = Lock(Installed())
  private static let mostWaiting = 10_000
  // A serial queue gets a thread even if the global queues are blocked.
  private static let queue = DispatchQueue(label: "Properations.Diagnostics", qos: .utility)

  /// Whether an observer is installed that wants to hear of a topic, or of one of several.
  @inline(__always)
  static func hears(_ topic: Topics) -> Bool {
    topics.load(ordering: .relaxed) & topic.rawValue != 0
  }

  /// The time from which on a closure is slow; the greatest number if none is.
  static var slowClosureLimit: UInt64 { slowNanoseconds.load(ordering: .relaxed) }

  /// How long a closure may wait for the main queue.
  static var mainQueueLimit: Duration? { installed.withLock { $0.mainQueueLimit } }

  static func replace(
    with observer: (any DiagnosticsObserver)?, _ configuration: FuturesDiagnostics.Configuration
  ) -> (any DiagnosticsObserver)? {
    var new: Topics = []
    if observer != nil {
      new = .mistakes
      if configuration.mainQueueLimit != nil { new.insert(.mainQueue) }
      if configuration.slowClosureLimit != nil { new.insert(.slowClosures) }
      if configuration.recordsPendingPromises { new.insert(.pendingPromises) }
    }
    let slow = configuration.slowClosureLimit.map { max($0, .zero).clampedNanoseconds }
    let former = installed.withLock { installed in
      defer {
        if installed.recorder != nil { new.insert(.trace) }
        installed = Installed(
          observer: observer,
          mainQueueLimit: configuration.mainQueueLimit.map { max($0, .milliseconds(1)) },
          recorder: installed.recorder)
        slowNanoseconds.store(slow ?? .max, ordering: .relaxed)
        topics.store(new.rawValue, ordering: .relaxed)
      }
      return installed.observer
    }
    ClosureWatch.limitHasChanged()
    if !new.contains(.pendingPromises) { PendingPromises.forgetAll() }
    return former
  }

  /// The recorder that records.
  static var recorder: TraceRecorder? { installed.withLock { $0.recorder } }

  /// Makes a recorder the one that records; `nil` ends the recording.
  ///
  /// - Parameter former: If it is given, nothing happens unless it records now.
  /// - Returns: The recorder that recorded until now; `nil` if nothing happened.
  static func record(
    with recorder: TraceRecorder?, insteadOf former: TraceRecorder? = nil
  ) -> TraceRecorder? {
    installed.withLock { installed in
      if let former, former !== installed.recorder { return nil }
      defer {
        installed.recorder = recorder
        let other = topics.load(ordering: .relaxed) & ~Topics.trace.rawValue
        topics.store(other | (recorder == nil ? 0 : Topics.trace.rawValue), ordering: .relaxed)
      }
      return installed.recorder
    }
  }

  /// Delivers a report.
  ///
  /// May be called anywhere, also with a lock held.
  ///
  /// - Parameter makeReport: Makes the call; not called if too many reports wait.
  static func send(
    _ makeReport: () -> @Sendable (any DiagnosticsObserver) -> Void
  ) {
    guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= mostWaiting else {
      dropped.wrappingAdd(1, ordering: .relaxed)
      waiting.wrappingSubtract(1, ordering: .relaxed)
      return
    }
    let report = makeReport()
    queue.async {
      let observer = installed.withLock { $0.observer }
      let count = dropped.exchange(0, ordering: .relaxed)
      if count > 0 { observer?.didDropReports(count) }
      if let observer { report(observer) }
      waiting.wrappingSubtract(1, ordering: .relaxed)
    }
  }
}
