import Foundation
import TestSupport
import Testing

/// A line of `Tests/SeedNames.txt`: a name from one of the three systems that the package
/// is based on, and the claim about its present form.
private struct SeedName {
  enum Claim: String { case same, alias, row }

  var claim: Claim
  var name: String
  /// The article about the system.
  var page: String

  static func all() throws -> [SeedName] {
    var page = ""
    return try Documents.text(of: "Tests/SeedNames.txt").split(separator: "\n").compactMap { line in
      if let match = line.wholeMatch(of: /\[.+: (.+)\]/) { page = String(match.1) }
      guard !line.hasPrefix("#"), !line.hasPrefix("[") else { return nil }
      let match = try #require(line.wholeMatch(of: /(\w+) +(.+)/), "\(line)")
      let claim = try #require(Claim(rawValue: String(match.1)), "\(line)")
      return SeedName(claim: claim, name: String(match.2), page: page)
    }
  }

  /// What is wrong with the claim; `nil` if it holds.
  func fault(in declarations: PublicDeclarations) throws -> String? {
    let found = declarations.matching(name)
    switch claim {
    case .same:
      return found.contains { !$0.isDeprecated } ? nil : "is not declared, or deprecated"
    case .alias:
      guard !found.isEmpty else { return "is not declared" }
      return found.allSatisfy(\.isDeprecated) ? nil : "is not deprecated"
    case .row:
      let cells = try Documents.text(of: page).split(separator: "\n")
        .filter { $0.hasPrefix("| ") }
        .compactMap { $0.split(separator: "|").first }
      return cells.contains { $0.contains("`\(name)`") } ? nil : "has no row in \(page)"
    }
  }
}

@Suite("The names of the first systems", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedNameTests {
  @Test("Each is what the list says: declared, deprecated, or explained in an article")
  func everyName() throws {
    let declarations = try PublicDeclarations(below: "Sources")
    let names = try SeedName.all()
    #expect(names.count > 250, "the list was not found")
    for name in names {
      if let fault = try name.fault(in: declarations) { Issue.record("\(name.name) \(fault)") }
    }
  }

  @Test("No name stands in the list twice")
  func once() throws {
    let names = try SeedName.all().map { "\($0.page) \($0.name)" }
    #expect(Set(names).count == names.count)
  }
}

@Suite("The look for public declarations", .timeLimit(.minutes(5)), .oneAtATime)
struct PublicDeclarationTests {
  private let declarations = PublicDeclarations(sources: [
    """
    open class Base: Operation {
      public final var state: Int { 1 }
      func hidden() {}
    }

    /// public func commented() {}
    public final class Task<Output: Collection<Int>, Failure: Error>: Base,
      Sendable
    {
      public init<each T>(name: String? = nil, _ members: repeat each T) {}

      @available(
        *, deprecated, renamed: "run(in:)")
      public func run(on queue: Queue, _ body: @escaping @Sendable (Int, Int) -> Void) {
        public func inner() {}
      }

      @available(*, unavailable) public func gone() {}
      @available(*, unavailable)
      public func goneToo() {}
      public static func || (first: Task, second: Task) -> Task { first }
      public func `catch`(@Builder members: () -> [Int], others: Int...) {}

      public enum Kind: Int, Sendable {
        case one, two(Int, of: String)
      }
    }

    public protocol Watching: AnyObject {
      func task(_ task: Task, didEndWith result: Int)
    }

    @available(*, deprecated)
    extension Task.Kind {
      public var old: Int { 1 }
    }

    public enum Names {}
    """
  ])

  private func find(_ name: String) -> [PublicDeclaration] { declarations.matching(name) }

  @Test("Members are found by owner and name, and by labels where they are given")
  func members() {
    #expect(find("Task").count == 1)
    #expect(find("Names").count == 1)
    #expect(find("Task.init").count == 1)
    #expect(find("Task.init(name:_:)").count == 1)
    #expect(find("Task.init(_:)").count == 1, "a parameter with a default may be left out")
    #expect(find("Task.init(name:)").isEmpty, "and no other")
    #expect(find("Task.run(on:_:)").count == 1)
    #expect(find("Task.run(in:_:)").isEmpty)
    #expect(find("Task.catch(members:)").count == 1)
    #expect(find("Task.catch(members:others:)").count == 1)
    #expect(find("Task.||").count == 1)
    #expect(find("Base.run").isEmpty)
  }

  @Test("Cases, requirements and nested types are found, and what is inherited")
  func kinds() {
    #expect(find("Task.Kind").count == 1)
    #expect(find("Task.Kind.one").count == 1)
    #expect(find("Task.Kind.two").count == 1)
    #expect(find("Watching.task(_:didEndWith:)").count == 1)
    #expect(find("Task.state").count == 1)
  }

  @Test("What nobody can call is not found")
  func hidden() {
    #expect(find("Base.hidden").isEmpty)
    #expect(find("commented").isEmpty)
    #expect(find("Task.inner").isEmpty)
    #expect(find("Task.gone").isEmpty)
    #expect(find("Task.goneToo").isEmpty)
  }

  @Test("Deprecation is seen, of the declaration or of its extension")
  func deprecation() {
    #expect(find("Task.run").map(\.isDeprecated) == [true])
    #expect(find("Task.Kind.old").map(\.isDeprecated) == [true])
    #expect(find("Task.state").map(\.isDeprecated) == [false])
  }
}
