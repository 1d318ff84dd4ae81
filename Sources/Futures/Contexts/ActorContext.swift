import Foundation

/// The context that runs closures on an actor.
///
/// `.actor(database)` reads better. To pass an actor itself wherever a context is expected,
/// declare `extension Database: ExecutionContext {}`.
///
/// The closures run on the actor, in the order in which they become ready, and nothing else
/// of the actor runs meanwhile. They have medium priority, whatever the priority of the code
/// that settles their sources is. They may use `assumeIsolated`. The forms whose closures get
/// the actor, such as ``Future/mapToValue(on:fileID:line:using:)-(Isolation,_,_,_)``, need no
/// such call.
public struct ActorContext: ExecutionContext {
  let actor: any Actor

  /// Makes a context from an actor.
  ///
  /// - Parameter actor: The actor on which closures run. The context keeps it.
  public init(_ actor: any Actor) { self.actor = actor }

  /// Starts the operation on the actor.
  public func execute(_ operation: Operation) { operation.start(on: actor) }
}

extension ExecutionContext where Self == ActorContext {
  /// Runs closures on an actor.
  ///
  /// - Parameter actor: The actor. Futures keep it while their closures wait.
  public static func actor(_ actor: any Actor) -> ActorContext { ActorContext(actor) }
}

extension ExecutionContext where Self: Actor {
  /// Starts the operation on the actor.
  ///
  /// - Parameter operation: The operation to start.
  public nonisolated func execute(_ operation: Operation) { operation.start(on: self) }
}

extension Operation {
  /// Starts the operation on an actor.
  fileprivate final func start(on actor: any Actor) {
    // A task starts where its closure is isolated. The closure is isolated to a parameter of
    // the function around it, so that function has to have an isolated parameter. It does
    // not touch the actor itself. So it may be called from anywhere, as a function without
    // isolation; for the compiler the two types differ only in that.
    typealias Isolated = (Operation, isolated any Actor) -> Void
    typealias Plain = (Operation, any Actor) -> Void
    let begin: Isolated = Self.begin
    withoutActuallyEscaping(begin) { unsafeBitCast($0, to: Plain.self)(self, actor) }
  }

  private static func begin(_ operation: Operation, on actor: isolated any Actor) {
    // One priority for all, because an actor takes those of a higher priority first.
    Task(priority: .medium) {
      _ = actor
      operation.startApart()
    }
  }
}
