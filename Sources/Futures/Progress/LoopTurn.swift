/// The place of one turn in a loop.
struct LoopTurn {
  /// How many turns were made before.
  var done = 0
  /// How many turns there are in all, if that is known.
  let total: Int?

  /// Whether the loop has progress to tell.
  var isTelling: Bool { total != nil || done > 0 }

  var next: LoopTurn { LoopTurn(done: done + 1, total: total) }

  /// What the loop is made of while this turn runs.
  func step(of turn: AnyFuture?) -> ProgressWalk.Step {
    guard let total else {
      return ProgressWalk.Step(report: FutureProgress(completed: Int64(done), of: 0))
    }
    // A collection may have more elements than it says.
    let share = 1 / Double(max(total, done + 1))
    return ProgressWalk.Step(
      base: share * Double(done), inputs: turn.map { [($0, share)] } ?? [], isKnown: done > 0)
  }
}
