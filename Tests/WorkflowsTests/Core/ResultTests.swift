import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Results", .timeLimit(.minutes(5)), .oneAtATime)
struct ResultTests {
  @Test("41. all untyped accessors agree, whatever the results")
  func accessors() throws {
    var generator = SeededGenerator(for: "accessors")
    for _ in 0..<20 {
      let workflow = inlineWorkflow()
      var unkeyed: [WorkflowTask<Int?>] = []
      var keyed: [AnyHashable: AnyWorkflowTask] = [:]
      for i in 0..<Int.random(in: 5...9, using: &generator) {
        let value = Bool.random(using: &generator) ? nil : Int.random(in: 0...9, using: &generator)
        unkeyed.append(
          try workflow.add(BlockWorkflowTask<Int?>(name: "\(i)") { $0.finish(with: value) }))
      }
      for _ in 0..<Int.random(in: 5...9, using: &generator) {
        let key = UUID().uuidString
        keyed[key] = try workflow.add(BlockWorkflowTask<String>(name: key) { $0.finish(with: key) })
      }
      let task = try workflow.add(
        OpenTask(name: "task"), prerequisites: unkeyed, keyedPrerequisites: keyed)
      workflow.start()
      #expect(
        task.allUnkeyedPrerequisiteResults.map { $0 as? Int } == unkeyed.map { $0.result ?? nil })
      #expect(task.allPrerequisiteResults.count == unkeyed.count + keyed.count)
      #expect(task.anyPrerequisiteResult as? Int == unkeyed[0].result ?? nil)
      #expect(task.keyedPrerequisiteResults.count == keyed.count)
      for (key, _) in keyed {
        #expect(task.prerequisiteResult(forKey: key) as? String == key.base as? String)
        #expect(task.keyedPrerequisiteResults[key].flatMap { $0 } as? String == key.base as? String)
      }
      #expect(task.prerequisiteResult(forKey: "no such key") == nil)
      let byTask = task.prerequisiteResultsByTask
      #expect(byTask.count == unkeyed.count + keyed.count)
      for prerequisite in unkeyed {
        #expect(byTask[prerequisite].flatMap { $0 } as? Int == prerequisite.result ?? nil)
      }
    }
  }

  @Test("41. a prerequisite that has not finished has an entry, but no result")
  func unfinished() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    #expect(b.allPrerequisiteResults.count == 1 && b.allPrerequisiteResults[0] == nil)
    #expect(b.anyPrerequisiteResult == nil)
    #expect(b.prerequisiteResultsByTask.count == 1)
  }

  @Test("42. typed results come by task and by key, without casts")
  func typed() throws {
    let workflow = inlineWorkflow()
    let number = try workflow.add(counting("number", result: 3))
    let text = try workflow.add(BlockWorkflowTask<String>(name: "text") { $0.finish(with: "x") })
    let key = PrerequisiteKey<String>("text")
    let task = try workflow.add(
      BlockWorkflowTask<String>(name: "task") { task in
        do {
          let (count, piece): (Int, String) = (
            try task.result(of: number), try task.result(forKey: key)
          )
          task.finish(with: String(repeating: piece, count: count))
        } catch {
          task.fail(with: error)
        }
      }, prerequisites: number, keyedPrerequisites: [key.named: text])
    workflow.start()
    #expect(task.result == "xxx")
    // The typed key and its plain name are the same.
    #expect(task.prerequisiteResult(forKey: "text") as? String == "x")
    #expect(task.prerequisiteResult(forKey: key.named) as? String == "x")
    #expect(task.keyedPrerequisiteTasks["text"] === text)
  }

  @Test("42. asking for what is no prerequisite, no key or not finished is a clear error")
  func errors() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"))
    let c = try workflow.add(OpenTask(name: "c"), prerequisites: a, keyedPrerequisites: ["b": b])
    let foreign = OpenTask(name: "foreign")
    func error(_ body: () throws -> Int) -> WorkflowError? {
      do {
        _ = try body()
        return nil
      } catch { return error as? WorkflowError }
    }
    if case .notAPrerequisite(foreign, c)? = error({ try c.result(of: foreign) }) {
    } else {
      Issue.record("foreign")
    }
    if case .notAPrerequisite(c, a)? = error({ try a.result(of: c) }) {
    } else {
      Issue.record("dependent")
    }
    if case .noResult(a)? = error({ try c.result(of: a) }) {} else { Issue.record("unfinished") }
    if case .unknownPrerequisiteKey("x", c)? = error({
      try c.result(forKey: PrerequisiteKey<Int>("x"))
    }) {
    } else {
      Issue.record("unknown key")
    }
    workflow.start()
    b.finish(with: 1)
    #expect(try c.result(forKey: PrerequisiteKey<Int>("b")) == 1)
    if case .wrongPrerequisiteType("b", b, "String", c)? = error({
      try c.result(forKey: PrerequisiteKey<String>("b")).count
    }) {
    } else {
      Issue.record("wrong type")
    }
    #expect(
      error { try c.result(of: a) }?.errorDescription?.contains("\"a\" has no result") == true)
  }

  @Test("43. results can be read after the run, and are gone after a reset")
  func afterwards() async throws {
    let workflow = Workflow(name: "w")
    let tracker = LifetimeTracker()
    let a = try workflow.add(
      BlockWorkflowTask<Tracked>(name: "a") { $0.finish(with: tracker.make()) })
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    workflow.start()
    #expect(await eventually { b.isExecuting })
    #expect(a.result != nil && a.anyResult is Tracked)
    #expect(try b.result(of: a) === a.result)
    a.reset()
    #expect(a.result == nil && a.anyResult == nil)
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("a key of a wider type than the result's is refused, by add and by result alike")
  func keyOfWiderType() throws {
    let workflow = inlineWorkflow()
    let number = try workflow.add(counting("number"))
    workflow.start()
    let optional = PrerequisiteKey<Int?>("number")
    let any = PrerequisiteKey<any CustomStringConvertible & Sendable>("number")
    for key in [optional.named, any.named] {
      #expect(throws: WorkflowError.self) {
        try workflow.add(OpenTask(name: "refused"), keyedPrerequisites: [key: number])
      }
    }
    let task = try workflow.add(OpenTask(name: "task"), keyedPrerequisites: ["number": number])
    #expect(throws: WorkflowError.self) { try task.result(forKey: optional) }
    #expect(throws: WorkflowError.self) { try task.result(forKey: any) }
    #expect(try task.result(forKey: PrerequisiteKey<Int>("number")) == 1)
  }
}
