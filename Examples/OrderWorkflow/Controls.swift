import Properations

/// The meaning of the keys.
struct Controls: Sendable {
  enum Meaning: Sendable {
    /// The key performs an action, described by the text.
    case act(String, @Sendable () -> Void)
    /// The key has no effect; the text says why.
    case nothing(String)
    case leave
  }

  let order: Order

  /// Returns the current meaning of a key.
  func meaning(of key: Character) -> Meaning {
    let workflow = order.workflow
    switch key {
    case "s": return .act("start everything") { workflow.start() }
    case "c": return .act("cancel everything") { workflow.cancel() }
    case "r": return .act("retry everything") { workflow.retry() }
    case "x": return .act("reset everything") { workflow.reset() }
    case "q": return .leave
    default:
      guard let step = order.steps.first(where: { $0.key == key }) else {
        return .nothing("'\(key)' is no key: press 1 to 7, s, c, r, x or q")
      }
      guard let action = step.action else {
        return .nothing("\(step.task.name) waits for other tasks")
      }
      return .act("\(action.rawValue) \(step.task.name)") { step.perform(action) }
    }
  }
}
