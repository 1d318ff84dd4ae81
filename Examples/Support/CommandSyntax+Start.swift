import Foundation

extension CommandSyntax {
  /// What becomes of a program once its arguments have been read.
  package enum Start {
    /// It runs with these options.
    case run(Options)
    /// It ends with this code; what there was to say has been printed.
    case exit(Int32)
  }

  /// Reads the arguments; prints help or the version, or complains of wrong usage.
  ///
  /// The exit code for wrong usage is 2.
  ///
  /// - Parameters:
  ///   - options: What the program does without arguments.
  ///   - arguments: Those of the process, unless told otherwise.
  ///   - check: Complains of what only all arguments together show.
  package func start(
    _ options: Options, _ arguments: [Argument] = Argument.all,
    check: (inout Options) throws(UsageError) -> Void = { _ throws(UsageError) in }
  ) -> Start {
    var options = options
    do {
      switch try read(arguments, into: &options) {
      case .help: return .exit(Console.output.write(help) ? 0 : 1)
      case .version: return .exit(Console.output.write(version) ? 0 : 1)
      case .run:
        try check(&options)
        return .run(options)
      }
    } catch {
      Console.complain("\(error)\n\n\(usage.dropLast())")
      return .exit(2)
    }
  }
}
