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
  /// The command that starts the shell of each script; empty if this program does.
  private(set) var launcher: [String] = []

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "BuildGraph", operands: "[TARGET...]", options: options,
      summary: """
        Runs the commands of a build description as a workflow: several at a time, each
        as soon as its prerequisites exist. The next build runs only what has failed or
        changed. Builds each TARGET and what it needs. Without a TARGET, it builds the
        targets that the description names by '.default:', or else all.
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

        A rule is a line 'TARGET: PREREQUISITE...'. The commands stand below it,
        indented: a script for '/bin/sh -e' that runs in the folder of the description.
        Blanks separate names; a name contains neither blanks nor colons. A
        prerequisite is another target or an existing file. The order of the rules does
        not matter. A target without commands is a name for its prerequisites. Empty
        lines, and lines and words that begin with '#', are comments; an indented '#'
        belongs to the script. There are no variables and no patterns.

        '@FILE' among the prerequisites names a dependency file that the commands
        write, as 'cc -MMD' does: from then on the files that it names count as
        prerequisites. Files that other targets make must be prerequisites all the
        same, because there is no dependency file before the first build. (To begin a
        name with '@', write './@'.) '.default: TARGET...' names the targets that are
        built by default; '.always: TARGET...' names targets that are built whenever
        they are wanted.

        A target is built if it was never built or its last build failed; if its
        commands or its list of prerequisites have changed; if a prerequisite, or a
        file that its dependency file names, has another date or size; if a
        prerequisite that makes no file was built again; or if its own file is gone. Of
        a folder only its existence counts. The state of the last builds is kept in
        '.NAME.state' beside the description NAME.

        With --launcher, another program starts the scripts, on this machine or
        elsewhere: 'srun -n1' runs them on the nodes of a Slurm cluster. It must wait
        for the script, pass output and exit code on, and end the script when it is
        ended itself. The folder of the description must be one that all nodes share.
        Raise --jobs to the number of scripts that the cluster runs at a time.

        The output of commands appears while they run, target by target. After a
        failure no further command starts, but running commands continue to their end;
        with -k the failure holds up only the targets that need the failed one. Ctrl-C
        ends the running commands and keeps what is done; a second Ctrl-C ends the
        program at once. If the program itself is killed, its commands are ended too. A
        program that a command moves to another process group, as setsid does, is not
        ended.

        Exit code: 0 if everything is up to date; 1 if a command failed, or if a file
        could not be written; 2 for wrong usage or a wrong description; 130 after
        Ctrl-C, and 128 + N after another signal N.
        """
    ) { options, target throws(UsageError) in
      guard let name = target.text else {
        throw UsageError("'\(target.visible)' is not UTF-8; names of targets must be UTF-8")
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
        help: "change to this folder first; another -C is relative to it"
      ) { $0.folders.append($1) },
      .number(
        "-j", "--jobs", value: "N", in: 1...1024,
        help: "run at most N commands at a time (default: as many as there are processors)"
      ) { $0.jobs = $1 },
      .flag("-n", "--dry-run", help: "print what would run, and why, but run nothing") {
        $0.isDryRun = true
      },
      .flag("-B", "--always-make", help: "build all wanted targets, changed or not") {
        $0.buildsAll = true
      },
      .flag("-k", "--keep-going", help: "after a failure, build all that does not depend on it") {
        $0.keepsGoing = true
      },
      .flag("-q", "--quiet", help: "print only the output of commands, and failures") {
        $0.detail = .quiet
      },
      .flag("-v", "--verbose", help: "also print the commands, and targets that are up to date") {
        $0.detail = .verbose
      },
      .converted(
        ["--launcher"], value: "COMMAND", needs: "a command whose quotes are closed",
        help: "start each script by 'COMMAND /bin/sh -e -c SCRIPT', for example by 'srun -n1'",
        CommandWords.split
      ) { $0.launcher = $1 },
      .flag("--dot", help: "print the graph for Graphviz instead of running it") {
        $0.wantsDrawing = true
      },
      .text(
        "--trace", value: "FILE", needs: "the name of a file",
        help: "write a trace of the run to FILE, for Perfetto or chrome://tracing"
      ) { $0.traceFile = $1 },
    ]
  }
}
