import ExampleSupport
import TestSupport
import Testing

@Suite("CommandSyntax", .timeLimit(.minutes(5)), .oneAtATime)
struct CommandSyntaxTests {
  private struct Options: Equatable {
    var isQuiet = false
    var keepsGoing = false
    var jobs = 1
    var speed = 1.0
    var file = ""
    var bytes: [UInt8] = []
    var operands: [Argument] = []
  }

  private let syntax = CommandSyntax<Options>(
    program: "Sample", operands: "[FILE...]",
    options: [
      .flag("-q", "--quiet", help: "print nothing") { $0.isQuiet = true },
      .flag("-k", help: "go on after a failure") { $0.keepsGoing = true },
      .number("-j", "--jobs", value: "N", in: 1...8, help: "run N at a time") { $0.jobs = $1 },
      .decimal("--speed", value: "X", from: "0.5", to: "2", help: "go X times as fast") {
        $0.speed = $1
      },
      .text("-f", "--file", value: "FILE", needs: "the name of a file", help: "read FILE") {
        $0.file = $1
      },
      .argument(
        "--a-name-that-is-rather-long", value: "BYTES", needs: "bytes",
        help: String(repeating: "many words that say little and need several lines ", count: 4)
      ) { $0.bytes = $1.bytes },
    ],
    summary: "Does little.\n", details: "Exit code: 0.\n",
    operand: { options, argument throws(UsageError) in options.operands.append(argument) })

  private func read(_ arguments: Argument...) throws -> Options {
    var options = Options()
    #expect(try syntax.read(arguments, into: &options) == .run)
    return options
  }

  private func complaint(_ arguments: Argument...) -> String? {
    var options = Options()
    do {
      _ = try syntax.read(arguments, into: &options)
      return nil
    } catch { return error.description }
  }

  // MARK: Reading

  @Test("A value follows its option, stands after '=', or is attached to the short name")
  func values() throws {
    let expected = Options(jobs: 4, file: "a")
    #expect(try read("--jobs", "4", "--file", "a") == expected)
    #expect(try read("--jobs=4", "--file=a") == expected)
    #expect(try read("-j", "4", "-f", "a") == expected)
    #expect(try read("-j4", "-fa") == expected)
    #expect(try read("--file=a=b").file == "a=b")
    #expect(try read("--speed=1.5").speed == 1.5)
  }

  @Test("Short options share a dash; the last of them may have a value")
  func clusters() throws {
    #expect(try read("-qk") == Options(isQuiet: true, keepsGoing: true))
    #expect(try read("-qj4") == Options(isQuiet: true, jobs: 4))
    #expect(try read("-qj", "4") == Options(isQuiet: true, jobs: 4))
  }

  @Test("A value may begin with a dash")
  func dashes() throws {
    #expect(try read("--file", "-q").file == "-q")
    #expect(try read("--file=--", "-q") == Options(isQuiet: true, file: "--"))
  }

  @Test("Operands stand anywhere; after '--' everything is one, and so is a single dash")
  func operands() throws {
    #expect(try read("a", "-q", "-", "b") == Options(isQuiet: true, operands: ["a", "-", "b"]))
    #expect(try read("--", "-q", "--", "--help").operands == ["-q", "--", "--help"])
    #expect(try read("").operands == [""])
  }

  @Test("Bytes that are not UTF-8 reach operands and values as they are")
  func bytes() throws {
    let odd = Argument(bytes: [0x78, 0xFF])
    #expect(try read(odd).operands == [odd])
    let name = Argument("--a-name-that-is-rather-long=").bytes
    #expect(try read(Argument(bytes: name + odd.bytes)).bytes == odd.bytes)
    #expect(odd.text == nil)
    #expect(odd.visible == "x\\xFF")
  }

  @Test("Help and version end the reading, and count as they stand among other arguments")
  func requests() throws {
    var options = Options()
    #expect(try syntax.read(["-q", "--help", "--nonsense"], into: &options) == .help)
    #expect(try syntax.read(["-qh"], into: &options) == .help)
    #expect(try syntax.read(["a", "--version"], into: &options) == .version)
  }

  // MARK: Errors

  @Test("A wrong argument is named, and what would be right is said")
  func complaints() {
    #expect(complaint("-x") == "unknown option '-x'")
    #expect(complaint("-qx") == "unknown option '-qx'")
    #expect(complaint("--wrong=1") == "unknown option '--wrong'")
    #expect(complaint("--quie") == "unknown option '--quie'")
    #expect(complaint("--q\u{1B}[31m") == "unknown option '--q\\u{1b}[31m'")
    #expect(complaint("--quiet=yes") == "--quiet takes no value")
    #expect(complaint("--help=yes") == "--help takes no value")
    #expect(complaint("-j") == "-j needs a number from 1 to 8")
    for wrong: Argument in ["--jobs", "--jobs=", "--jobs=0", "--jobs=9", "--jobs=1.5", "--jobs=x"] {
      #expect(complaint(wrong) == "--jobs needs a number from 1 to 8")
    }
    #expect(complaint("--speed", "nan") == "--speed needs a number from 0.5 to 2")
    #expect(complaint("--speed=3") == "--speed needs a number from 0.5 to 2")
    #expect(complaint("--file=") == "--file needs the name of a file")
    #expect(complaint("-f") == "-f needs the name of a file")
    #expect(complaint(Argument(bytes: [0x2D, 0x66, 0xFF])) == "-f needs the name of a file")
    #expect(complaint("--a-name-that-is-rather-long") == "--a-name-that-is-rather-long needs bytes")
  }

  @Test("A program without operands names the argument that it does not know")
  func noOperands() {
    let syntax = CommandSyntax<Options>(program: "Sample", options: [], summary: "", details: "")
    var options = Options()
    #expect(throws: UsageError("unknown argument 'a\\u{a}b'")) {
      try syntax.read(["a\nb"], into: &options)
    }
  }

  // MARK: Help

  @Test("Help lists all options in two columns, breaks lines, and ends with the details")
  func help() {
    #expect(
      syntax.help == """
        Usage: Sample [-q] [-k] [-j N] [--speed X] [-f FILE]
                      [--a-name-that-is-rather-long BYTES] [--] [FILE...]

        Does little.

          -q, --quiet      print nothing
          -k               go on after a failure
          -j, --jobs N     run N at a time
          --speed X        go X times as fast
          -f, --file FILE  read FILE
          --a-name-that-is-rather-long BYTES
                           many words that say little and need several lines many words
                           that say little and need several lines many words that say
                           little and need several lines many words that say little and
                           need several lines
          --version        print the version
          -h, --help       print this text

        Exit code: 0.

        """)
    #expect(syntax.help.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test("The usage is the beginning of help, and says where there is more")
  func usage() {
    #expect(syntax.usage.hasSuffix("[--] [FILE...]\nTry 'Sample --help' for more.\n"))
    #expect(syntax.help.hasPrefix(syntax.usage.split(separator: "Try")[0]))
  }
}
