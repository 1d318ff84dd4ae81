import ExampleSupport
import Foundation
import Synchronization

/// Prints the reports on targets and the output of their commands, target by target.
///
/// The transcript follows one target while its commands run: its lines appear as they are
/// written, below a line with its name. The output of other targets waits in their files
/// and appears when the target is reported as ended. If the followed target is silent for
/// two seconds, the targets that have ended are printed first, and the line with its name
/// is repeated when it continues.
final class Transcript: Sendable {
  /// A target with output or a report to print.
  private final class Block {
    let name: String
    /// The text above the target's output.
    let header: String
    /// The output of the target; `nil` if no command was started.
    let output: OutputFile?
    /// The number of bytes printed so far.
    var offset: Int64 = 0
    /// Whether the header stands above the next output.
    var isOpen = false
    /// Whether the last printed line is incomplete.
    var isMidLine = false
    /// Whether everything has been printed.
    var isTold = false
    /// The last line; `nil` if there is none.
    var closing: String?

    init(name: String, header: String = "", output: OutputFile? = nil) {
      self.name = name
      self.header = header
      self.output = output
    }
  }

  private struct State {
    /// The targets that have begun, in this order.
    var running: [Block] = []
    /// The targets that have ended but are not printed yet.
    var ended: [Block] = []
    /// The target that is followed.
    var followed: Block?
    var lastLine = ContinuousClock.now
    var hasProgress = false
    var buffer = [UInt8](repeating: 0, count: 65536)
  }

  private let detail: Options.Detail
  private let state = Mutex(State())

  init(_ detail: Options.Detail) { self.detail = detail }

  // MARK: Reports and output

  /// Records that the commands of a target begin.
  func begin(_ rule: Rule, _ reason: Reason, _ output: OutputFile) {
    var header = "running         \(rule.target)\n"
    if detail == .verbose {
      header = "running         \(rule.target) (\(reason))\n"
      header += rule.script.split(separator: "\n").map { "    $ \($0)\n" }.joined()
    }
    state.withLock { [header] state in
      let block = Block(name: rule.target, header: header, output: output)
      state.running.append(block)
      if detail == .verbose, state.followed == nil { open(block, &state) }
    }
  }

  /// Records that a target has ended.
  ///
  /// - Parameter line: The report on the target, without its line end; `nil` if there is
  ///   none.
  func end(_ name: String, _ line: String?) {
    state.withLock { state in
      let i = state.running.firstIndex { $0.name == name }
      let block = i.map { state.running.remove(at: $0) } ?? Block(name: name)
      block.closing = line
      if let followed = state.followed, followed !== block {
        keep(block, &state)
      } else {
        tell(block, &state)
        tellEnded(&state)
      }
    }
  }

  /// Prints new output.
  ///
  /// - Parameter progress: A line that is shown until something else is printed.
  func follow(progress: String? = nil) {
    state.withLock { state in
      if let followed = state.followed {
        let isSilent = !printLines(of: followed, &state)
        if isSilent, !state.ended.isEmpty, ContinuousClock.now - state.lastLine > .seconds(2) {
          interrupt(&state)
        }
      }
      if state.followed == nil {
        for block in state.running where printLines(of: block, &state) { break }
      }
      guard let progress, !state.running.contains(where: \.isMidLine) else { return }
      Console.errors.write("\r\(progress)\u{1B}[K")
      state.hasProgress = true
    }
  }

  /// Prints the remaining output, and reports running targets as stopped.
  func close() {
    state.withLock { state in
      let left = state.running
      state.running = []
      for block in left { block.closing = "stopped         \(block.name)" }
      if let followed = state.followed { tell(followed, &state) }
      tellEnded(&state)
      for block in left where !block.isTold { tell(block, &state) }
      erase(&state)
    }
  }

  /// Prints text that belongs to no target.
  func say(_ text: String) {
    state.withLock { state in write(Array(text.utf8), &state) }
  }

  // MARK: Printing, with the lock held

  /// Keeps a target that has ended until the followed target has ended.
  private func keep(_ block: Block, _ state: inout State) {
    state.ended.append(block)
    // Each of them has an open file.
    if state.ended.count > 16 { interrupt(&state) }
  }

  /// Prints the targets that have ended, before the followed target continues.
  private func interrupt(_ state: inout State) {
    if let followed = state.followed {
      endLine(of: followed, &state)
      followed.isOpen = false
    }
    state.followed = nil
    tellEnded(&state)
  }

  private func tellEnded(_ state: inout State) {
    let ended = state.ended
    state.ended = []
    for block in ended { tell(block, &state) }
  }

  /// Prints the remaining output of a target and its report.
  private func tell(_ block: Block, _ state: inout State) {
    block.isTold = true
    if detail == .verbose, block.output != nil { open(block, &state) }
    _ = printLines(of: block, &state, untilEnd: true)
    endLine(of: block, &state)
    state.followed = nil
    if let line = block.closing { write(Array("\(line)\n".utf8), &state) }
  }

  /// Prints the header, unless it stands there already.
  private func open(_ block: Block, _ state: inout State) {
    state.followed = block
    state.lastLine = .now
    guard !block.isOpen else { return }
    block.isOpen = true
    write(Array(block.header.utf8), &state)
  }

  private func endLine(of block: Block, _ state: inout State) {
    guard block.isMidLine else { return }
    block.isMidLine = false
    write([UInt8(ascii: "\n")], &state)
  }

  /// Prints the lines written since the last call; returns whether there were any.
  ///
  /// - Parameter untilEnd: Whether the last line is printed even if it is incomplete.
  private func printLines(
    of block: Block, _ state: inout State, untilEnd: Bool = false
  ) -> Bool {
    guard let output = block.output else { return false }
    // Output that arrives during this call is printed by the next one.
    let size = output.size
    // A command has truncated the file: its content is new.
    if size < block.offset { block.offset = 0 }
    var hasPrinted = false
    while block.offset < size {
      let count = output.read(at: block.offset, into: &state.buffer)
      guard count > 0 else { break }
      let isLong = count == state.buffer.count
      let lines = state.buffer[..<count].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
      guard let part = lines ?? (untilEnd || isLong ? count : nil) else { break }
      open(block, &state)
      let text = Self.quoted(state.buffer[..<part], isMidLine: block.isMidLine)
      block.isMidLine = state.buffer[part - 1] != UInt8(ascii: "\n")
      block.offset += Int64(part)
      write(text, &state)
      hasPrinted = true
    }
    return hasPrinted
  }

  /// Puts a mark before each line.
  ///
  /// - Parameter isMidLine: Whether the first line continues a printed one.
  private static func quoted(_ bytes: ArraySlice<UInt8>, isMidLine: Bool) -> [UInt8] {
    let mark = Array("    | ".utf8)
    var quoted: [UInt8] = []
    quoted.reserveCapacity(bytes.count * 2)
    var rest = bytes
    var isFirst = isMidLine
    while !rest.isEmpty {
      if !isFirst { quoted += mark }
      isFirst = false
      let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
      quoted += rest[..<end]
      rest = rest[end...]
    }
    return quoted
  }

  private func write(_ bytes: [UInt8], _ state: inout State) {
    erase(&state)
    Console.output.write(bytes: bytes)
  }

  private func erase(_ state: inout State) {
    guard state.hasProgress else { return }
    state.hasProgress = false
    Console.errors.write("\r\u{1B}[K")
  }
}
