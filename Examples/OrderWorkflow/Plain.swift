import ExampleSupport
import Foundation
import Properations

/// Reports events in lines, and reads keys as lines.
@MainActor
final class Plain: Performance {
  private let order: Order
  private let timeline: Timeline
  private let options: Options
  private let narrator: Narrator

  init(_ order: Order, _ timeline: Timeline, _ options: Options) {
    self.order = order
    self.timeline = timeline
    self.options = options
    // If a drawing is wanted, standard output is reserved for it.
    let console = options.drawing == nil ? Console.output : Console.errors
    narrator = Narrator(order: order, timeline: timeline, console: console)
    console.write("\(order.workflow.name), seed \(options.seed)\n")
    // Input from a keyboard needs a hint.
    if !options.isAutomatic, isatty(STDIN_FILENO) == 1 {
      console.write("Type a task's number, 1 to 7, or s, c, r, x or q, and Return.\n")
    }
  }

  func run() async -> Int32? {
    let interruption = Interruption.first()
    let scope = CancellationScope()
    interruption.onSuccess(on: .inline) { _ in scope.cancel() }
    let autopilot = options.isAutomatic ? Autopilot(order: order, timeline: timeline) : nil
    autopilot?.start()

    order.workflow.start()
    let controls = Controls(order: order)
    keys: while await rest(scope), !options.isAutomatic, let line = await nextLine(scope) {
      guard let key = line.first(where: { !$0.isWhitespace }) else { continue }
      switch controls.meaning(of: key) {
      case .act(let text, let act):
        narrator.say("> \(text)")
        act()
      case .nothing(let reason): narrator.say("> \(reason)")
      case .leave: break keys
      }
    }
    let signal = interruption.result?.successValue
    if signal != nil { order.workflow.cancel() }
    let unfinished = order.workflow.allTasks.filter { !$0.isFinished }
    if !unfinished.isEmpty {
      let list = unfinished.map { "\($0.name) (\($0.state))" }.joined(separator: ", ")
      narrator.say("Not finished: \(list).")
    }
    return signal
  }

  /// Continues the story until nothing more happens by itself; returns `false` if it was
  /// interrupted.
  private func rest(_ scope: CancellationScope) async -> Bool {
    while !scope.isCancelled, let next = timeline.next {
      if let speed = options.speed {
        let wait = (next - timeline.now) / speed
        guard await Promises.delay(for: wait).cancelled(by: scope).completion.isSuccess else {
          return false
        }
      }
      _ = timeline.jump()
    }
    return !scope.isCancelled
  }

  private func nextLine(_ scope: CancellationScope) async -> String? {
    let line = Promises.run(on: .global()) { Self.readLine() }
    return await line.cancelled(by: scope).completion.successValue ?? nil
  }

  /// Returns the next line of standard input; `nil` at its end.
  ///
  /// Swift's own `readLine()` is not used: it holds a lock while it waits, and an
  /// interrupted program needs that lock in order to exit.
  private nonisolated static func readLine() -> String? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }
}
