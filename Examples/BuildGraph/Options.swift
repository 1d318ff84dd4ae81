import ExampleSupport
import Foundation

/// The options of the program.
struct Options: Sendable {
  /// The amount of output.
  enum Detail: Sendable {
    case quiet, usual, verbose
  }

  private(set) var file = "Buildfile"
  private(set) var targets: [String] = []
  private(set) var jobs = ProcessInfo.processInfo.activeProcessorCount
  /// The folders to change to, one after the other, before anything is read.
  private(set) var folders: [String] = []
  private(set) var isDryRun = false
  private(set) var buildsAll = false
  private(set) var keepsGoing = false
  private(set) var detail = Detail.usual
  private(set) var wantsDrawing = false
  private(set) var traceFile: String?

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "BuildGraph", operands: "[TARGET...]", options: options,
      summary: """
        Runs the commands of a build description, as many at a time as there are
        processors, each as soon as what it needs is there. What neither failed nor
        changed since is not run again. Builds each TARGET and what it needs; without
        one, what the description names by '.default:', or else everything.
        """,
      details: """
        A description is a text file of rules:

          # The program.
          hello: hello.o
              cc -o hello hello.o

          hello.o: hello.c @hello.d
              cc -MMD -c hello.c

          clean:
              rm -f hello hello.o hello.d

          .default: hello
          .always: clean

        A rule is a line 'TARGET: PREREQUISITE...' and, below it, indented, the
        commands: a script for '/bin/sh -e', run in the folder of the description.
        Names are separated by blanks, and contain neither blanks nor colons. A
        prerequisite is another target or a file that is there. The order of the rules
        means nothing. A target without commands is a name for its prerequisites. Empty
        lines, and lines and words that begin with '#', are comments; an indented '#'
        belongs to the script. There are no variables and no patterns.

        '@FILE' among the prerequisites names a dependency file that the commands
        write, as 'cc -MMD' does: the files that it names count as prerequisites from
        then on. Files that other targets make have to be prerequisites all the same:
        before the first build no other file says so. (To begin a name with '@', write
        './@'.) '.default: TARGET...' says what is built if nothing is asked for;
        '.always: TARGET...' what is built whenever it is wanted.

        A target is built if it never was or its last build did not end well; if its
        commands or the list of its prerequisites have changed; if one of those, or of
        the files that its dependency file names, is a file whose date or size has
        changed, or was built as something that is no file; or if it was a file that is
        gone. Of a folder counts only that it is there. What is known of the last
        builds is kept in '.NAME.state' beside the description NAME.

        What commands print appears while they run, target by target. After a failure
        nothing is begun any more, but what runs goes on to its end; with -k the
        failure holds up only the targets that need the failed one. Ctrl-C ends the
        commands that run and keeps what is done; a second Ctrl-C ends the program at
        once. If the program itself is killed, what it has started is ended as well.

        Exit code: 0 if everything is up to date; 1 if a command failed, or if a file
        could not be written; 2 for wrong usage or a wrong description; 130 after
        Ctrl-C, and 128 + N after another signal N.
        """
    ) { options, target throws(UsageError) in
      guard let name = target.text else {
        throw UsageError("'\(target.visible)' is not UTF-8, as all names of targets are")
      }
      options.targets.append(name)
    }
  }

  private static var options: [CommandOption<Options>] {
    [
      .text(
        "-f", "--file", value: "FILE", needs: "the name of a file",
        help: "read this description (default: Buildfile)"
      ) { $0.file = $1 },
      .text(
        "-C", "--directory", value: "DIR", needs: "the name of a folder",
        help: "go to this folder first; another -C goes on from there"
      ) { $0.folders.append($1) },
      .number(
        "-j", "--jobs", value: "N", in: 1...1024,
        help: "run at most N commands at a time (default: as many as there are processors)"
      ) { $0.jobs = $1 },
      .flag("-n", "--dry-run", help: "say what would be run, and why, and run nothing") {
        $0.isDryRun = true
      },
      .flag("-B", "--always-make", help: "build everything that is wanted, changed or not") {
        $0.buildsAll = true
      },
      .flag("-k", "--keep-going", help: "build what can be built after a failure") {
        $0.keepsGoing = true
      },
      .flag("-q", "--quiet", help: "print only what commands print, and failures") {
        $0.detail = .quiet
      },
      .flag("-v", "--verbose", help: "print commands, and what is up to date, as well") {
        $0.detail = .verbose
      },
      .flag("--dot", help: "draw the graph for Graphviz instead of running it") {
        $0.wantsDrawing = true
      },
      .text(
        "--trace", value: "FILE", needs: "the name of a file",
        help: "write what ran when to a file that Perfetto and chrome://tracing open"
      ) { $0.traceFile = $1 },
    ]
  }
}
