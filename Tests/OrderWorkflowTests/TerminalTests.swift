import Foundation
import Properations
import TestSupport
import Testing

@testable import OrderWorkflow

/// The program at a terminal.
@Suite("OrderWorkflow, at a terminal", .timeLimit(.minutes(5)), .oneAtATime)
struct TerminalTests {
  private let program = Program("OrderWorkflow")
  private let terminal: TestSupport.Terminal

  init() throws { terminal = try TestSupport.Terminal() }

  @Test("Keys provide what is missing; the end is shown, and q leaves with exit code 0")
  func keys() async throws {
    let run = try program.start(
      ["--seed", "7", "--failures", "0", "--speed", "40"], at: terminal)
    try await terminal.appearance(of: "[2] provide").value
    #expect(!terminal.isCooked)
    terminal.type("2\u{1B}[15~4")
    try await terminal.appearance(of: "Provide Photo 2.").value
    terminal.type("6")
    try await terminal.appearance(of: "'The Coast' with").value
    terminal.type("q")
    #expect(try await run.exitCode.value == 0)
    #expect(terminal.isCooked)
    // The cursor is visible again.
    try await terminal.appearance(of: "\u{1B}[?25h").value
    #expect(terminal.text.contains("████████████████████ 100 %"))
  }

  @Test("Automatically, it shows the end and leaves by itself")
  func automatic() async throws {
    let run = try program.start(["--auto", "--seed", "7", "--speed", "15"], at: terminal)
    #expect(try await run.exitCode.value == 0)
    try await terminal.appearance(of: "'The Coast' with").value
    #expect(terminal.text.contains("attempt 2"), "seed 7 fails once")
    #expect(terminal.isCooked)
  }

  @Test("A signal restores the terminal", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(signal: Int32) async throws {
    let run = try program.start(["--seed", "7"], at: terminal)
    try await terminal.appearance(of: "[2] provide").value
    kill(run.process.processIdentifier, signal)
    #expect(try await run.exitCode.value == 128 + signal)
    #expect(terminal.isCooked)
    try await terminal.appearance(of: "\u{1B}[?7h\u{1B}[?25h").value
    #expect(terminal.text.hasSuffix("\u{1B}[?7h\u{1B}[?25h"), "nothing is drawn after that")
  }

  @Test("Ctrl-Z restores the terminal, and going on takes it again")
  func suspended() async throws {
    let run = try program.start(["--seed", "7"], at: terminal)
    try await terminal.appearance(of: "[2] provide").value
    kill(run.process.processIdentifier, SIGTSTP)
    try await terminal.appearance(of: "\u{1B}[?25h").value
    // The program stops only after that; a SIGCONT that comes earlier is lost.
    let again = terminal.appearance(of: "\u{1B}[?25h\u{1B}[?25l")
    while !again.isFinished {
      kill(run.process.processIdentifier, SIGCONT)
      _ = await Promises.delay(for: .milliseconds(20)).completion
    }
    try await terminal.appearance(of: "1-7: the task's action").value
    #expect(!terminal.isCooked)
    terminal.type("q")
    #expect(try await run.exitCode.value == 1)
    #expect(terminal.isCooked)
  }

  /// The rows of the last complete picture.
  private var rows: [Substring] {
    let pictures = terminal.text.components(separatedBy: "\u{1B}[H").dropFirst()
    guard let last = pictures.last(where: { $0.contains("\u{1B}[J") }) else { return [] }
    return last.components(separatedBy: "\u{1B}[J")[0]
      .split(separator: "\r\n", omittingEmptySubsequences: false)
  }

  @Test("In a window that has shrunk below the picture no row is drawn twice or left behind")
  func shrunk() async throws {
    let run = try program.start(["--seed", "7"], at: terminal)
    try await terminal.appearance(of: "[2] provide").value
    #expect(await eventually { rows.count == 12 })
    for lines: UInt16 in [6, 1, 8] {
      terminal.resize(lines: lines, columns: 100)
      #expect(await eventually { rows.count == min(Int(lines), 10) })
    }
    #expect(rows[0].contains("Order Product"))
    #expect(rows[7].contains("Submit Order"))
    terminal.resize(lines: 40, columns: 100)
    #expect(await eventually { rows.count == 12 })
    // Each picture begins in the corner and ends in its last row.
    let pictures = terminal.text.components(separatedBy: "\u{1B}[H").dropFirst()
    #expect(pictures.allSatisfy { !$0.contains("\r\n\u{1B}[J") })
    #expect(!terminal.text.contains("\u{1B}[?1049l"))
    terminal.type("q")
    #expect(try await run.exitCode.value == 1)
    try await terminal.appearance(of: "\u{1B}[?7h\u{1B}[?25h").value
    // The normal screen has one picture.
    let end = terminal.text.components(separatedBy: "\u{1B}[?1049l")
    #expect(end.count == 2)
    #expect(end[1].components(separatedBy: "Submit Order").count == 2)
    #expect(end[1].components(separatedBy: "\r\n").count == 13)
  }

  @Test("What does not fit is left out from the end, and empty lines before")
  func fitting() {
    func fitting(_ height: Int?) -> [String] {
      OrderWorkflow.Terminal.fitting(["a", "", "b", "", "c"], height: height)
    }
    #expect(fitting(nil) == ["a", "", "b", "", "c"])
    #expect(fitting(5) == ["a", "", "b", "", "c"])
    #expect(fitting(4) == ["a", "b", "c"])
    #expect(fitting(2) == ["a", "b"])
    #expect(fitting(1) == ["a"])
  }

  @Test("Only letters and digits count as keys, whatever a keyboard sends")
  func sequences() {
    func keys(_ text: String) -> String { String(OrderWorkflow.Terminal.keys(in: text.utf8)) }
    #expect(keys("1q") == "1q")
    #expect(keys("\u{1B}[A2\u{1B}OP\u{1B}[15~3\u{1B}[1;5D") == "23")
    #expect(keys("\n\t ü\u{7F}4\u{1B}") == "4")
    #expect(keys("\u{1B}[") == "")
    #expect(keys("\u{1B}q5") == "5")
  }
}
