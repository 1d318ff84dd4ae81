/// Collects the members of a group from a closure, one on each line, with `if` and `for`.
@resultBuilder
public enum TaskGroupBuilder {
  /// A task.
  public static func buildExpression(
    _ task: any ProducerTaskProtocol
  ) -> [any ProducerTaskProtocol] { [task] }

  /// Several tasks.
  public static func buildExpression(
    _ tasks: [any ProducerTaskProtocol]
  ) -> [any ProducerTaskProtocol] { tasks }

  /// All lines.
  public static func buildBlock(
    _ parts: [any ProducerTaskProtocol]...
  ) -> [any ProducerTaskProtocol] { parts.flatMap { $0 } }

  /// An `if` without `else`.
  public static func buildOptional(
    _ part: [any ProducerTaskProtocol]?
  ) -> [any ProducerTaskProtocol] { part ?? [] }

  /// The first branch.
  public static func buildEither(
    first part: [any ProducerTaskProtocol]
  ) -> [any ProducerTaskProtocol] { part }

  /// The second branch.
  public static func buildEither(
    second part: [any ProducerTaskProtocol]
  ) -> [any ProducerTaskProtocol] { part }

  /// A loop.
  public static func buildArray(
    _ parts: [[any ProducerTaskProtocol]]
  ) -> [any ProducerTaskProtocol] { parts.flatMap { $0 } }
}
