import Foundation

extension CommandSyntax {
  /// How a program continues after its arguments have been read.
  package enum Start {
    /// The program runs with these options.
    case run(Options)
    /// The program exits with this code. Its message has been printed.
    case exit(Int32)
  }

  /// Reads the arguments, prints help or the version, or reports wrong usage.
  ///
  /// The exit code for wrong usage is 2.
  ///
  /// - Parameters:
  ///   - options: The options of the program without arguments.
  ///   - arguments: The arguments to read; by default those of the process.
  ///   - check: Throws if the arguments are wrong in combination.
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
