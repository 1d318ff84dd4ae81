import Builds
import ExampleSupport
import Foundation
import Orders
import Properations
import WorkflowWeb

/// Serves a page that shows workflows live.
///
/// - `WorkflowWeb` is the library that an application uses: the server and the page.
/// - `OrderStory` is the order of the example `OrderWorkflow`, in real time.
/// - `BuildStory` is a build of the example `BuildGraph`.
/// - `RandomGraph` makes graphs of up to thousands of tasks.
/// - `RecordedWorkflow` is what a journal has recorded.
@main
enum Command {
  static func main() async {
    StandardStreams.prepare()
    let interruption = Interruption.first()
    switch Options.syntax.start(Options()) {
    case .exit(let code): exit(code)
    case .run(let options):
      do {
        try await run(options, until: interruption)
        exit(0)
      } catch {
        Console.complain(error.message)
        exit(1)
      }
    }
  }

  private static func run(_ options: Options, until interruption: Future<Int32>) async throws {
    let hosts = options.hosts
    let reach: Dashboard.Reach = hosts.isEmpty ? .thisMachine : .network(hosts: hosts)
    let dashboard = try await Dashboard(port: options.port, reach: reach)
    let order = try Self.order(seed: options.seed, options)
    dashboard.show(order.workflow, as: "order", order.presentation)
    for file in options.journals {
      let recorded = try RecordedWorkflow(journal: URL(fileURLWithPath: file))
      dashboard.show(recorded.workflow, recorded.presentation)
    }
    dashboard.offer(
      WorkflowOffer(id: "random", title: "A random graph: tasks and seed", example: "200.7") {
        let graph = try RandomGraph(argument: $0, speed: options.speed)
        return WorkflowOffer.Made(graph.workflow, .ofPacedTasks)
      })
    dashboard.offer(
      WorkflowOffer(id: "order", title: "An order of a product: seed", example: "1") { argument in
        guard let seed = UInt64(argument) else { throw InvalidSeed() }
        let order = try Self.order(seed: seed, options)
        return WorkflowOffer.Made(order.workflow, order.presentation)
      })
    // Last, because the commands run in the folder of the description: paths of other files
    // would lead elsewhere afterwards.
    let build = try options.build.map { try BuildStory(of: URL(fileURLWithPath: $0)) }
    if let build { dashboard.show(build.workflow, as: "build") }
    Console.output.write("\(dashboard.url.absoluteString)\n")
    _ = await interruption.completion
    await dashboard.stop()
    await build?.end()
  }

  private struct InvalidSeed: Error, LocalizedError {
    var errorDescription: String? { "The argument is a seed: a whole number such as 1." }
  }

  private static func order(
    seed: UInt64, _ options: Options
  ) throws -> (workflow: Workflow, presentation: WorkflowPresentation) {
    let story = try OrderStory(seed: seed, failures: options.failures, speed: options.speed)
    var presentation = WorkflowPresentation()
    presentation.progress = story.progress
    presentation.result = story.result
    presentation.fulfill = story.fulfill
    return (story.workflow, presentation)
  }
}

extension WorkflowPresentation {
  /// Shows the progress of paced tasks.
  static var ofPacedTasks: WorkflowPresentation {
    var presentation = WorkflowPresentation()
    presentation.progress = { ($0 as? PacedTask)?.progress }
    return presentation
  }
}
