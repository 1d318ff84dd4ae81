import ExampleSupport
import Foundation
import Properations

/// Shows the order on a terminal in real time, and reacts to keys.
@MainActor
final class Interactive: Performance {
  private let order: Order
  private let timeline: Timeline
  private let options: Options
  private let terminal: Terminal
  private let controls: Controls
  private var message: String
  private var wantsToLeave = false

  init(_ order: Order, _ timeline: Timeline, _ options: Options, on terminal: Terminal) {
    self.order = order
    self.timeline = timeline
    self.options = options
    self.terminal = terminal
    controls = Controls(order: order)
    message = "Seed \(options.seed)."
  }

  func run() async -> Int32? {
    let interruption = Interruption.first(
      others: [SIGTSTP], onOther: { [terminal] _ in terminal.suspend() },
      beforeExit: { [terminal] in terminal.close() })
    terminal.open()
    defer { terminal.close() }
    terminal.readKeys { [self] key in react(to: key) }
    let autopilot = options.isAutomatic ? Autopilot(order: order, timeline: timeline) : nil
    autopilot?.start()

    order.workflow.start()
    let clock = ContinuousClock()
    var last = clock.now
    while !wantsToLeave, !interruption.isFinished {
      let now = clock.now
      // The time while the program was suspended does not count.
      let step = min(now - last, .milliseconds(250))
      last = now
      timeline.advance(to: timeline.now + step * (options.speed ?? 1))
      draw()
      if options.isAutomatic, timeline.next == nil { break }
      _ = await Promises.delay(for: .milliseconds(50)).completion
    }
    draw()
    return interruption.result?.successValue
  }

  private func react(to key: Character?) {
    guard let key else {
      wantsToLeave = true
      return
    }
    switch controls.meaning(of: key) {
    case .act(let text, let act):
      message = sentence(text)
      act()
    case .nothing(let reason): message = sentence(reason)
    case .leave: wantsToLeave = true
    }
  }

  private func sentence(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst() + "."
  }

  private func draw() {
    let isColoured = ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
    let hasFinished = !order.workflow.hasUnfinishedTasks
    let picture = Picture(
      order: order, now: timeline.now,
      message: hasFinished ? "All tasks have finished." : message, isColoured: isColoured)
    terminal.draw(picture.lines)
  }
}
