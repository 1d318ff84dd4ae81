import ArgumentParser
import Foundation
import NIOPosix

/// Measures the package's promises about speed and size, and reports whether they are
/// kept.
@main
struct BudgetsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "budgets",
    abstract: "Measures the package beside what it is built on, in one run.",
    discussion: """
      Build it with -c release, and leave the machine alone meanwhile. It exits with 1 if a \
      budget is not met.
      """)

  @Flag(help: "Only what a busy machine can tell as well: allocations and linearity.")
  var short = false

  @Flag(help: "Print JSON instead of a table.")
  var json = false

  @Flag(help: "Print the points of the pictures, as comma-separated values.")
  var series = false

  @Option(help: "Only the rows whose text contains this.")
  var only: String?

  @Option(
    help:
      "Only do this, for a profiler: \(Profiled.allCases.map(\.rawValue).joined(separator: ", ")).")
  var profile: Profiled?

  @Option(help: "How many thousand times to do what --profile names.")
  var thousands = 20

  @Flag(name: .customLong("pending-memory"), help: .hidden)
  var isMeasuringMemory = false
  static let pendingMemoryFlag = "--pending-memory"

  func run() throws {
    #if DEBUG
      throw ValidationError("A debug build says nothing about speed: add -c release.")
    #else
      if isMeasuringMemory { return print(try ResidentMemory.ofPendingLink()) }
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      defer { try? group.syncShutdownGracefully() }
      if let profile { return try profile.run(thousands: thousands, on: group) }
      if series { return try Series.print(on: group) }

      let budgets = Budget.all(on: group).filter { $0.isStable || !short }
        .filter { only.map($0.what.contains) ?? true }
      let rows = try budgets.map { try short ? $0.measureAgainIfMissed() : $0.measure() }
      print(try json ? Self.text(ofJSON: rows) : Table(rows: rows).text)
      if rows.contains(where: { !$0.isMet }) { throw ExitCode(1) }
    #endif
  }

  private static func text(ofJSON rows: [Row]) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try encoder.encode(rows), as: UTF8.self)
  }
}
