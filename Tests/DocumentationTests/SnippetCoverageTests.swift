import TestSupport
import Testing

@Suite("Snippets", .timeLimit(.minutes(5)), .oneAtATime)
struct SnippetCoverageTests {
  @Test("Every Swift block of the documentation is compiled")
  func everyBlockIsCompiled() throws {
    let files = try Documents.compiledFiles()
    let blocks = try Documents.swiftBlocks()
    #expect(blocks.count > 20, "the documents were not found")
    for block in blocks where !files.contains(where: { $0.contains(block) }) {
      Issue.record(
        """
        \(block.document):\(block.line): no file in \(Documents.snippets) compiles this block. \
        Copy it there, word for word.
        """)
    }
  }

  @Test("Nothing in the snippet files is hidden from the compiler")
  func nothingIsHidden() throws {
    for path in try Documents.paths(below: Documents.snippets, ending: ".swift") {
      #expect(CompiledFile(try Documents.text(of: path)).suspiciousLines == [], "\(path)")
    }
  }
}

@Suite("The snippet check itself", .timeLimit(.minutes(5)), .oneAtATime)
struct SnippetCheckTests {
  private let file = CompiledFile(
    """
    import Futures

    func example() {
      let a = 1
      let b = 2

      print(a, b)
    }
    """)

  private func block(_ text: String) throws -> CodeBlock {
    try #require(
      CodeBlock.all(inMarkdown: "Text.\n\n```swift\n\(text)\n```\n", of: "a.md").first)
  }

  @Test("A block that is compiled is found, whatever its indentation")
  func compiledBlock() throws {
    #expect(file.contains(try block("let a = 1\n\nlet b = 2")))
    #expect(file.contains(try block("  import Futures\n  let b = 2\n  print(a, b)")))
  }

  @Test("A block that is not compiled is not found")
  func uncompiledBlock() throws {
    #expect(!file.contains(try block("let c = 3")))
    #expect(!file.contains(try block("let a = 1\nprint(a, b)")), "a line is left out")
    #expect(!file.contains(try block("let a =")), "a part of a line")
    #expect(!file.contains(try block("import Other\nlet a = 1")), "not imported")
    #expect(!file.contains(try block("")), "nothing at all")
  }

  @Test("Blocks come with language and line")
  func languageAndLine() throws {
    let blocks = try CodeBlock.all(
      inMarkdown: "One\n```sh\nls\n```\n\n  ```Swift extra\n  let a = 1\n  ```\n```\nplain\n```",
      of: "a.md")
    #expect(blocks.map(\.language) == ["sh", "swift", ""])
    #expect(blocks.map(\.line) == [2, 6, 9])
  }

  @Test("Only documentation comments of a source are read")
  func comments() throws {
    let blocks = try CodeBlock.all(
      inCommentsOf: "// ```swift\n/// Text.\n///\n/// ```swift\n/// let c = 3\n/// ```\nlet d = 4",
      of: "a.swift")
    #expect(blocks.map(\.lines) == [[" let c = 3"]])
    #expect(blocks.map(\.line) == [4])
    #expect(!file.contains(try #require(blocks.first)))
  }

  @Test("A fence that is never closed is an error")
  func unclosedFence() {
    #expect(throws: CodeBlock.Unclosed.self) {
      try CodeBlock.all(inMarkdown: "```swift\nlet a = 1", of: "a.md")
    }
  }

  @Test("Code that is not compiled is suspicious")
  func suspicion() {
    #expect(CompiledFile("#if false\nlet a = 1\n#endif").suspiciousLines == ["#if false"])
    #expect(CompiledFile("/*\nlet a = 1").suspiciousLines == ["/*"])
    #expect(file.suspiciousLines.isEmpty)
  }
}
