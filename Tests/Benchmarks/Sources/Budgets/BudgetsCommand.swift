import ArgumentParser
import Foundation
import NIOPosix

/// Measures what the package promises of its speed and size, and says whether
/// it is so.
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

  func run() throws {
    #if DEBUG
      throw ValidationError("A debug build says nothing about speed: add -c release.")
    #else
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      defer { try? group.syncShutdownGracefully() }
      if let profile { return try profile.run(thousands: thousands, on: group) }
      if series { return try Series.print(on: group) }

      let budgets = Budget.all(on: group).filter { $0.isStable || !short }
        .filter { only.map($0.what.contains) ?? true }
      var rows: [Int: Row] = [:]
      let order =
        budgets.indices.filter { budgets[$0].comesFirst }
        + budgets.indices.filter { !budgets[$0].comesFirst }
      for index in order { rows[index] = try budgets[index].measure() }
      let inOrder = rows.sorted { $0.key < $1.key }.map(\.value)
      print(try json ? Self.text(ofJSON: inOrder) : Table(rows: inOrder).text)
      if inOrder.contains(where: { !$0.isMet }) { throw ExitCode(1) }
    #endif
  }

  private static func text(ofJSON rows: [Row]) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try encoder.encode(rows), as: UTF8.self)
  }
}
