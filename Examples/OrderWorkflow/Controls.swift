import Properations

/// What the keys do.
struct Controls: Sendable {
  enum Meaning: Sendable {
    /// Something can be done; the text says what.
    case act(String, @Sendable () -> Void)
    /// Nothing can be done, and why.
    case nothing(String)
    case leave
  }

  let order: Order

  /// What a key would do now.
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
