#if PROPERATIONS_EXPLORER

  /// A readable trace of the turns: which thread continued, and when.
  struct ScheduleTrace: CustomStringConvertible {
    private struct Pass {
      let from: Int
      let to: Int
      let decision: Int
      let reason: String
      /// The functions that the stopped thread is in.
      let functions: [String]
    }

    /// Whether to name the functions that the threads are in, which takes time.
    let namesFunctions: Bool
    private var passes: [Pass] = []
    /// The numbers of objects, in the order in which they are named.
    private var numbers: [Int: Int] = [:]

    init(namesFunctions: Bool) { self.namesFunctions = namesFunctions }

    mutating func begin(_ thread: ExploredThread, at decision: Int) {
      passes.append(
        Pass(from: -1, to: thread.index, decision: decision, reason: "", functions: []))
    }

    mutating func pass(
      from thread: ExploredThread, to next: ExploredThread, at decision: Int,
      touching object: Int?
    ) {
      let reason: String
      switch thread.state {
      case .over: reason = "is over"
      case .lockedOut: reason = "needs \(name(of: object))"
      case .blocked: reason = thread.isIdle ? "is idle" : "blocks"
      case .ready: reason = "is stopped before \(name(of: object))"
      }
      let functions =
        namesFunctions && !thread.isOver && !thread.isIdle ? CallStack.functions(atMost: 4) : []
      passes.append(
        Pass(
          from: thread.index, to: next.index, decision: decision, reason: reason,
          functions: functions))
    }

    private mutating func name(of object: Int?) -> String {
      guard let object, object != Execution.outside else { return "a hand-off" }
      let number = numbers[object] ?? numbers.count + 1
      numbers[object] = number
      return "object \(number)"
    }

    var description: String {
      passes.map { pass in
        pass.from < 0
          ? "  thread \(pass.to) begins"
          : "  \(pass.decision): thread \(pass.from) \(pass.reason), thread \(pass.to) goes on"
            + (pass.functions.isEmpty
              ? "" : "\n      in " + pass.functions.joined(separator: " < "))
      }.joined(separator: "\n")
    }
  }

#endif
