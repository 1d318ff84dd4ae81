// The part of Apple's Combine that the library uses, transcribed for `.ci/typecheck-apple`.

public protocol CustomCombineIdentifierConvertible {
  var combineIdentifier: CombineIdentifier { get }
}

public struct CombineIdentifier: Hashable, CustomStringConvertible, Sendable {
  public init() { fatalError() }
  public init(_ obj: AnyObject) { fatalError() }
  public var description: String { fatalError() }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
  public var combineIdentifier: CombineIdentifier { fatalError() }
}

public protocol Cancellable {
  func cancel()
}

public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
  func request(_ demand: Subscribers.Demand)
}

public enum Subscribers {
  @frozen public struct Demand: Equatable, Comparable, Hashable, Sendable {
    public static let unlimited: Demand = { fatalError() }()
    public static let none: Demand = { fatalError() }()
    public static func max(_ value: Int) -> Demand { fatalError() }
    public static func < (lhs: Demand, rhs: Demand) -> Bool { fatalError() }
  }

  @frozen public enum Completion<Failure: Error> {
    case finished
    case failure(Failure)
  }
}

public protocol Publisher<Output, Failure> {
  associatedtype Output
  associatedtype Failure: Error
  func receive<S: Subscriber>(subscriber: S) where Self.Failure == S.Failure, Self.Output == S.Input
}

extension Publisher {
  public func subscribe<S: Subscriber>(_ subscriber: S)
  where Self.Failure == S.Failure, Self.Output == S.Input { fatalError() }
}

public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
  associatedtype Input
  associatedtype Failure: Error
  func receive(subscription: any Subscription)
  func receive(_ input: Self.Input) -> Subscribers.Demand
  func receive(completion: Subscribers.Completion<Self.Failure>)
}

// The name that the library shares with Combine.
public final class Future<Output, Failure: Error> {}
