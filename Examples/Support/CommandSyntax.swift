/// The arguments that a program takes.
///
/// ```swift
/// let syntax = CommandSyntax<Options>(
///   program: "Count", operands: "FILE...",
///   options: [
///     .flag("-q", "--quiet", help: "print the sum only") { $0.isQuiet = true },
///     .number("-j", "--jobs", value: "N", in: 1...64, help: "read N at a time") {
///       $0.jobs = $1
///     },
///   ],
///   summary: "Counts the lines of files.", details: "Exit code: 0, or 2.")
/// ```
///
/// The value of an option follows it (`--jobs 4`, `-j 4`) or is attached (`--jobs=4`,
/// `-j4`). Short options without a value may share a dash (`-qk`). Every argument after
/// `--` is an operand. Every program has the options `-h`, `--help` and `--version`.
package struct CommandSyntax<Options> {
  package let program: String
  /// The operands for help; an optional operand stands in brackets.
  let operands: String
  let options: [CommandOption<Options>]
  /// What the program does; the beginning of help.
  let summary: String
  /// Further explanations; the end of help.
  let details: String
  private let addOperand: (inout Options, Argument) throws(UsageError) -> Void

  /// - Parameter operand: Takes an argument that is no option. Leave it out for a program
  ///   without operands.
  package init(
    program: String, operands: String = "", options: [CommandOption<Options>], summary: String,
    details: String,
    operand: @escaping (inout Options, Argument) throws(UsageError) -> Void = {
      _, argument throws(UsageError) in
      throw UsageError("unknown argument '\(argument.visible)'")
    }
  ) {
    self.program = program
    self.operands = operands
    self.options =
      options + [
        .flag("--version", help: "print the version") { _ in },
        .flag("-h", "--help", help: "print this text") { _ in },
      ]
    self.summary = summary
    self.details = details
    addOperand = operand
  }

  /// What the arguments ask the program to do.
  package enum Request: Sendable, Equatable { case run, help, version }

  /// Reads arguments.
  ///
  /// - Parameter options: The options of the program without arguments; the arguments
  ///   change them.
  /// - Returns: Whether help or the version is wanted. Arguments after such an option are
  ///   not read.
  package func read(
    _ arguments: [Argument], into options: inout Options
  ) throws(UsageError) -> Request {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let bytes = argument.bytes
      if bytes.count < 2 || bytes[0] != UInt8(ascii: "-") {
        try addOperand(&options, argument)
      } else if argument == "--" {
        for operand in rest { try addOperand(&options, operand) }
        return .run
      } else if bytes[1] == UInt8(ascii: "-") {
        let request = try readLong(argument, &rest, &options)
        if request != .run { return request }
      } else {
        let request = try readShort(argument, &rest, &options)
        if request != .run { return request }
      }
    }
    return .run
  }

  private func readLong(
    _ argument: Argument, _ rest: inout ArraySlice<Argument>, _ options: inout Options
  ) throws(UsageError) -> Request {
    let parts = argument.bytes.split(
      separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let name = Argument(bytes: parts[0])
    guard let option = self.options.first(where: { $0.long == name.text }), let long = option.long
    else { throw UsageError("unknown option '\(name.visible)'") }
    let attached = parts.count > 1 ? Argument(bytes: parts[1]) : nil
    if option.value == nil, attached != nil { throw UsageError("\(long) takes no value") }
    return try apply(option, named: long, attached, &rest, &options)
  }

  private func readShort(
    _ argument: Argument, _ rest: inout ArraySlice<Argument>, _ options: inout Options
  ) throws(UsageError) -> Request {
    // Names are ASCII, so bytes can be compared.
    var letters = argument.bytes.dropFirst()
    while let letter = letters.popFirst() {
      let option = self.options.first { $0.short?.asciiValue == letter }
      guard let option, let short = option.short else {
        throw UsageError("unknown option '\(argument.visible)'")
      }
      var attached: Argument?
      if option.value != nil, !letters.isEmpty {
        attached = Argument(bytes: letters)
        letters = []
      }
      let request = try apply(option, named: "-\(short)", attached, &rest, &options)
      if request != .run { return request }
    }
    return .run
  }

  private func apply(
    _ option: CommandOption<Options>, named name: String, _ attached: Argument?,
    _ rest: inout ArraySlice<Argument>, _ options: inout Options
  ) throws(UsageError) -> Request {
    switch option.long {
    case "--help": return .help
    case "--version": return .version
    default:
      // A missing value is treated like an empty one.
      let value = option.value == nil ? "" : attached ?? rest.popFirst() ?? ""
      try option.apply(&options, name, value)
      return .run
    }
  }
}
