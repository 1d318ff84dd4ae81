import Foundation
import Properations
import TestSupport
import Testing

struct Article: Sendable {
  let text: String
  let words: Int
}

private enum API {
  static func loadText(then handler: @escaping @Sendable (Result<String, any Error>) -> Void) {
    DispatchQueue.global().async { handler(.success("A lighthouse at night.")) }
  }
}

private let api = API.self

@Suite("Coming from Task.framework", .timeLimit(.minutes(5)), .oneAtATime)
struct ComingFromTaskFrameworkSnippets {
  @Test("The program after the change")
  func program() async throws {
    final class Publisher: Sendable {
      let workflow = Workflow(name: "Publish")

      let approval = ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true)
      let article: WorkflowTask<Article>

      init() throws {
        let text = try workflow.add(
          BlockWorkflowTask<String>(name: "text") { task in
            api.loadText { result in task.end(with: result) }
          })
        let words = try workflow.add("words", after: text) { text in
          text.split(separator: " ").count
        }
        try workflow.add(approval)
        article = try workflow.add("article", after: text, words, approval) { text, words, _ in
          Article(text: text, words: words)
        }
      }

      func publish() async throws -> Article? {
        switch try await workflow.run() {
        case .finished: article.result
        case .failed, .cancelled, .stuck: nil
        }
      }
    }

    let publisher = try Publisher()
    publisher.approval.fulfill(with: "me")
    #expect(try await publisher.publish()?.words == 4)
    #expect(publisher.approval.result == "me")
  }

  @Test("A subclass")
  func subclass() async throws {
    final class CountWords: WorkflowTask<Int>, @unchecked Sendable {
      override func main(_ run: TaskWork<Int>) {
        run.end(with: Result { try run.result(forKey: .text).split(separator: " ").count })
      }

      override var requiredPrerequisiteKeys: Set<AnyHashable> { [PrerequisiteKey.text.named] }
    }

    let workflow = Workflow()
    let text = try workflow.add(BlockWorkflowTask<String> { $0.finish(with: "two words") })
    let count = CountWords(name: "count")
    #expect(throws: WorkflowError.self) { try workflow.add(count) }
    try workflow.add(count, keyedPrerequisites: [PrerequisiteKey.text.named: text])
    #expect(try await workflow.run().isFinished)
    #expect(count.result == 2)
  }

  @Test("Observing")
  func observing() async throws {
    let workflow = Workflow(name: "Observed")
    let text = try workflow.add(BlockWorkflowTask<String>(name: "text") { $0.finish(with: "") })
    let log = Log<String>()
    func show(_ task: AnyWorkflowTask) { log.append("\(task.name) \(task.state)") }

    func watch() async {
      let events = workflow.events
      workflow.start()
      for await event in events {
        switch event {
        case .taskDidStart(let task), .taskDidFinish(let task), .taskDidFail(let task): show(task)
        case .runDidEnd: return
        default: break
        }
      }
    }

    await watch()
    #expect(text.isFinished)
    #expect(log.entries.last == "text Finished")
    #expect(log.count == 2)
  }
}

extension PrerequisiteKey where Output == String {
  static var text: PrerequisiteKey { PrerequisiteKey("text") }
}
