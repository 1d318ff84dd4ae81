import Foundation
import Futures
import TestSupport
import Testing

@Suite("Trace recorders", .timeLimit(.minutes(5)), .alone)
struct TraceRecorderTests {
  /// The slices of a recording that the futures of this file have made.
  private func slices(_ recorder: TraceRecorder) throws -> [TraceEvent] {
    try TraceEvent.all(in: recorder.json).filter { event in
      event.phase == "X" && event.arguments["createdAt"]?.contains("TraceRecorderTests") == true
    }
  }

  /// Closures are recorded after their futures have settled.
  private func finishAll(_ queue: OperationQueue) { queue.waitUntilAllOperationsAreFinished() }

  @Test func `a closure that ran on a queue has its name, its place and its time`() async throws {
    let queue = OperationQueue()
    queue.name = "disk"
    let recorder = TraceRecorder()
    #expect(!recorder.isRecording)
    recorder.start()
    #expect(recorder.isRecording)
    let named = Promises.makeSucceeded(with: 1)
    let link = named.mapToValue(on: queue) { $0 + 1 }
    let line = #line - 1
    _ = try await link.value
    finishAll(queue)
    recorder.stop()
    let slice = try #require(try slices(recorder).first)
    #expect(slice.name == "TraceRecorderTests.swift:\(line)")
    #expect(slice.category == "closure")
    #expect(slice.duration >= 0 && slice.time >= 0)
    let rows = try TraceEvent.all(in: recorder.json).filter { $0.phase == "M" }
    #expect(rows.contains { $0.arguments["name"] == "Closures" })
    #expect(rows.contains { $0.arguments["name"] == "the operation queue \"disk\"" })
  }

  @Test func `nothing is recorded before the start, after the stop, or inline`() async throws {
    let queue = OperationQueue()
    let recorder = TraceRecorder()
    func run() async throws {
      _ = try await Promises.run(on: queue) { 1 }.value
      finishAll(queue)
    }
    try await run()
    recorder.start()
    _ = Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { $0 }
    recorder.stop()
    recorder.stop()
    try await run()
    #expect(try slices(recorder).isEmpty)
    #expect(!recorder.isRecording)
  }

  @Test func `a second recorder stops the first, and stopping the first stops nothing`()
    async throws
  {
    let (first, second) = (TraceRecorder(), TraceRecorder())
    first.start()
    second.start()
    defer { second.stop() }
    #expect(!first.isRecording && second.isRecording)
    first.stop()
    second.start()
    #expect(second.isRecording)
    _ = try await Promises.run(on: OperationQueue()) { 1 }.value
    #expect(await eventually { (try? slices(second).count) == 1 })
    #expect(try slices(first).isEmpty)
  }

  @Test func `observers and recorders come and go without each other`() async throws {
    let recorder = TraceRecorder()
    recorder.start()
    let queue = OperationQueue()
    let reports = try await DiagnosticsRecorder()
      .recording(.init(mainQueueLimit: nil, slowClosureLimit: .zero)) {
        _ = try await Promises.run(on: queue) { 1 }.value
        finishAll(queue)
      }
    #expect(reports.slow.count == 1)
    // The observer has gone, the recorder has not.
    _ = try await Promises.run(on: queue) { 2 }.value
    finishAll(queue)
    recorder.stop()
    #expect(try slices(recorder).count == 2)
  }

  // The cases of one test would run at the same time, and one recorder records at a time.

  @Test func `of many events the latest are kept, and the others are counted`() async throws {
    for limit in [-1, 0, 1, 3] {
      let (context, gate) = (ManualContext(), Promise<Int>())
      let links = (0..<20).map { number in
        let link = gate.mapToValue(on: context) { $0 }
        link.name = "\(number)"
        return link
      }
      let recorder = TraceRecorder(limit: limit)
      let kept = max(limit, 1)
      recorder.start()
      gate.succeed(with: 1)
      context.runAll()
      recorder.stop()
      #expect(recorder.limit == kept)
      #expect(recorder.count == kept)
      #expect(recorder.droppedCount == 20 - kept)
      #expect(try slices(recorder).map(\.name) == links.suffix(kept).map { $0.name ?? "" })
      #expect(recorder.json.contains("\(20 - kept) older events were dropped."))
    }
  }

  @Test func `names of any characters are escaped and shortened`() async throws {
    let names = [
      "\"quotes\" \\ and {braces}", "two\nlines\r\u{2028}\u{0}\u{1B}", "🦆 👩‍👩‍👧", "",
      String(repeating: "long", count: 2_500), "e" + String(repeating: "\u{301}", count: 10_000),
    ]
    for name in names {
      let queue = OperationQueue()
      queue.name = name
      let recorder = TraceRecorder()
      recorder.start()
      let gate = Promise<Int>()
      let link = gate.mapToValue(on: queue) { $0 }
      link.name = name
      gate.succeed(with: 1)
      _ = try await link.value
      finishAll(queue)
      recorder.stop()
      let slice = try #require(try slices(recorder).first)
      #expect(slice.name.unicodeScalars.count <= 321)
      #expect(slice.name.hasPrefix(String(name.prefix { $0.isLetter && $0.isASCII }.prefix(80))))
      #expect(recorder.json.utf8.count < 5_000)
    }
  }

  @Test func `closures that overlap on one context get rows of their own`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    queue.name = "two"
    let recorder = TraceRecorder()
    recorder.start()
    let both = (Event(), Event())
    let first = Promises.run(on: queue) {
      both.0.signal()
      both.1.wait()
    }
    let second = Promises.run(on: queue) {
      both.1.signal()
      both.0.wait()
    }
    _ = try await (first.value, second.value)
    finishAll(queue)
    recorder.stop()
    let slices = try slices(recorder)
    #expect(Set(slices.map(\.row)).count == 2)
    let names = try TraceEvent.all(in: recorder.json).compactMap { $0.arguments["name"] }
    #expect(names.contains("the operation queue \"two\" (2)"))
  }

  @Test func `threads may start, stop, record and read at the same time`() async throws {
    let recorders = [TraceRecorder(limit: 50), TraceRecorder(limit: 7)]
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          let queue = OperationQueue()
          for round in 0..<100 {
            let recorder = recorders[(number + round) % 2]
            recorder.start()
            _ = await Promises.run(on: queue) { 1 }.completion
            _ = recorder.json
            recorder.stop()
          }
        }
      }
    }
    #expect(recorders.allSatisfy { !$0.isRecording && $0.count <= $0.limit })
    _ = try recorders.map { try TraceEvent.all(in: $0.json) }
  }
}
