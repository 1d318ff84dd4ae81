// Interfaces of Apple's Foundation: the classes that the package uses and that differ
// from those on Linux. `.ci/typecheck-apple` compiles the sources against them.
//
// This file was transcribed by hand from Apple's documentation and never compiled on an
// Apple platform, so it may contain mistakes. It declares what can be called, from where,
// and what may cross threads; it does not define behaviour. When the sources use another
// part of these classes, add that part here from its page of the documentation.
//
// Everything else (`Date`, `URL`, `Data`, errors, coders) is the Foundation of Linux.

@_exported import Darwin
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking

private func interface() -> Never { fatalError("an interface without a body") }

// MARK: Autorelease pools

public func autoreleasepool<E, Result: ~Copyable>(
  invoking body: () throws(E) -> Result
) throws(E) -> Result { interface() }

// MARK: NSObject, "NSKeyValueObserving"

/// The methods that every object has on Apple's platforms.
///
/// `.ci/typecheck-apple` puts this class in the place of `NSObject` where the package
/// defines a class that observes.
open class ObservableObject: NSObject, @unchecked Sendable {
  open func willChangeValue(forKey key: String) { interface() }
  open func didChangeValue(forKey key: String) { interface() }
  open var observationInfo: UnsafeMutableRawPointer? { interface() }
  open func addObserver(
    _ observer: NSObject, forKeyPath keyPath: String, options: NSKeyValueObservingOptions = [],
    context: UnsafeMutableRawPointer?
  ) { interface() }
  open func removeObserver(_ observer: NSObject, forKeyPath keyPath: String) { interface() }
  open func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?
  ) { interface() }
}

public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  public static var prior: NSKeyValueObservingOptions { interface() }
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
}

public struct NSKeyValueChangeKey: Hashable, RawRepresentable, Sendable {
  public static var notificationIsPriorKey: NSKeyValueChangeKey { interface() }
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

// MARK: "Operation"

@available(macOS 10.5, iOS 2.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class Operation: ObservableObject, @unchecked Sendable {
  public override init() { interface() }

  open func start() { interface() }
  open func main() { interface() }
  open func cancel() { interface() }

  open var isCancelled: Bool { interface() }
  open var isExecuting: Bool { interface() }
  open var isFinished: Bool { interface() }
  open var isConcurrent: Bool { interface() }
  @available(macOS 10.8, iOS 7.0, *)
  open var isAsynchronous: Bool { interface() }
  open var isReady: Bool { interface() }

  open func addDependency(_ op: Operation) { interface() }
  open func removeDependency(_ op: Operation) { interface() }
  open var dependencies: [Operation] { interface() }

  @available(macOS 10.6, iOS 4.0, *)
  open var completionBlock: (@Sendable () -> Void)? {
    get { interface() }
    set { interface() }
  }

  @available(macOS 10.6, iOS 4.0, *)
  open func waitUntilFinished() { interface() }

  @available(macOS 10.10, iOS 8.0, *)
  open var qualityOfService: QualityOfService {
    get { interface() }
    set { interface() }
  }

  @available(macOS 10.10, iOS 8.0, *)
  open var name: String? {
    get { interface() }
    set { interface() }
  }

  open var queuePriority: Operation.QueuePriority {
    get { interface() }
    set { interface() }
  }

  public enum QueuePriority: Int, @unchecked Sendable {
    case veryLow = -8
    case low = -4
    case normal = 0
    case high = 4
    case veryHigh = 8
  }
}

// MARK: "BlockOperation"

@available(macOS 10.6, iOS 4.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class BlockOperation: Operation, @unchecked Sendable {
  public convenience init(block: @escaping @Sendable () -> Void) { interface() }
  open func addExecutionBlock(_ block: @escaping @Sendable () -> Void) { interface() }
}

// MARK: "OperationQueue"

@available(macOS 10.5, iOS 2.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class OperationQueue: NSObject, @unchecked Sendable {
  public override init() { interface() }

  public class var defaultMaxConcurrentOperationCount: Int { -1 }

  open class var current: OperationQueue? { interface() }
  open class var main: OperationQueue { interface() }

  open func addOperation(_ op: Operation) { interface() }
  open func addOperations(_ ops: [Operation], waitUntilFinished wait: Bool) { interface() }
  open func addOperation(_ block: @escaping @Sendable () -> Void) { interface() }
  @available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
  open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) { interface() }

  @available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
  open var progress: Progress { interface() }

  open var maxConcurrentOperationCount: Int {
    get { interface() }
    set { interface() }
  }
  open var isSuspended: Bool {
    get { interface() }
    set { interface() }
  }
  open var name: String? {
    get { interface() }
    set { interface() }
  }
  open var qualityOfService: QualityOfService {
    get { interface() }
    set { interface() }
  }
  // Declared `unowned(unsafe)` by Apple: the operation queue does not retain it.
  open var underlyingQueue: DispatchQueue? {
    get { interface() }
    set { interface() }
  }

  open func cancelAllOperations() { interface() }
  open func waitUntilAllOperationsAreFinished() { interface() }

  @available(macOS, introduced: 10.5, deprecated: 100000)
  open var operations: [Operation] { interface() }
  @available(macOS, introduced: 10.6, deprecated: 100000)
  open var operationCount: Int { interface() }
}

// MARK: "Progress"

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class Progress: NSObject, @unchecked Sendable {
  public init(totalUnitCount unitCount: Int64) { interface() }
  open var totalUnitCount: Int64 {
    get { interface() }
    set { interface() }
  }
  open var completedUnitCount: Int64 {
    get { interface() }
    set { interface() }
  }
  open var cancellationHandler: (@Sendable () -> Void)? {
    get { interface() }
    set { interface() }
  }
  open var isCancelled: Bool { interface() }
  open var isFinished: Bool { interface() }
  open var isIndeterminate: Bool { interface() }
  open var fractionCompleted: Double { interface() }
  open func addChild(_ child: Progress, withPendingUnitCount inUnitCount: Int64) { interface() }
  open func becomeCurrent(withPendingUnitCount unitCount: Int64) { interface() }
  open func resignCurrent() { interface() }
  open func cancel() { interface() }
}

// MARK: "NotificationCenter"

@available(macOS 10.0, iOS 2.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class NotificationCenter: NSObject, @unchecked Sendable {
  open class var `default`: NotificationCenter { interface() }
  open func post(_ notification: Notification) { interface() }
  open func post(name aName: NSNotification.Name, object anObject: Any?) { interface() }
  open func post(
    name aName: NSNotification.Name, object anObject: Any?,
    userInfo aUserInfo: [AnyHashable: Any]? = nil
  ) { interface() }
  open func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol { interface() }
  open func removeObserver(_ observer: Any) { interface() }
}

// MARK: "RunLoop", "Timer": of one thread, so not `Sendable`

open class RunLoop: NSObject {
  @available(*, noasync)
  open class var current: RunLoop { interface() }
  open class var main: RunLoop { interface() }
  open func add(_ timer: Timer, forMode mode: RunLoop.Mode) { interface() }
  @available(*, noasync)
  open func run() { interface() }
  @available(*, noasync)
  open func run(until limitDate: Date) { interface() }
  @available(*, noasync)
  open func run(mode: RunLoop.Mode, before limitDate: Date) -> Bool { interface() }
  @available(macOS 10.12, iOS 10.0, tvOS 10.0, watchOS 3.0, *)
  open func perform(_ block: @escaping @Sendable () -> Void) { interface() }

  public struct Mode: Hashable, RawRepresentable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let common = Mode(rawValue: "kCFRunLoopCommonModes")
    public static let `default` = Mode(rawValue: "kCFRunLoopDefaultMode")
  }
}

open class Timer: NSObject {
  @available(macOS 10.12, iOS 10.0, tvOS 10.0, watchOS 3.0, *)
  public init(
    timeInterval interval: TimeInterval, repeats: Bool, block: @escaping @Sendable (Timer) -> Void
  ) { interface() }
  open func invalidate() { interface() }
}

// MARK: "URLSession"

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, visionOS 1.0, *)
open class URLSession: NSObject, @unchecked Sendable {
  public init(configuration: URLSessionConfiguration) { interface() }
  open class var shared: URLSession { interface() }
  open func invalidateAndCancel() { interface() }
  open func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { interface() }
  open func dataTask(
    with request: URLRequest,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { interface() }
}

open class URLSessionTask: NSObject, @unchecked Sendable {
  open func cancel() { interface() }
  open func resume() { interface() }
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

// MARK: "Process": macOS only

#if PLATFORM_IS_macOS
  @available(macOS 10.0, *)
  @available(iOS, unavailable)
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  @available(visionOS, unavailable)
  open class Process: NSObject, @unchecked Sendable {
    public override init() { interface() }
    open var executableURL: URL? {
      get { interface() }
      set { interface() }
    }
    open var currentDirectoryURL: URL? {
      get { interface() }
      set { interface() }
    }
    open var environment: [String: String]? {
      get { interface() }
      set { interface() }
    }
    open var standardInput: Any? {
      get { interface() }
      set { interface() }
    }
    open var standardOutput: Any? {
      get { interface() }
      set { interface() }
    }
    open var standardError: Any? {
      get { interface() }
      set { interface() }
    }
    open var arguments: [String]? {
      get { interface() }
      set { interface() }
    }
    open func run() throws { interface() }
    open func terminate() { interface() }
    open func waitUntilExit() { interface() }
    open var isRunning: Bool { interface() }
    open var processIdentifier: Int32 { interface() }
    open var terminationStatus: Int32 { interface() }
    open var terminationReason: TerminationReason { interface() }
    open var terminationHandler: (@Sendable (Process) -> Void)? {
      get { interface() }
      set { interface() }
    }

    public enum TerminationReason: Int, @unchecked Sendable {
      case exit = 1
      case uncaughtSignal = 2
    }
  }
#endif
