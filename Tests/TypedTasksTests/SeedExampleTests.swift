import Foundation
import TestSupport
import Testing
import TypedTasks

// The programs of the introductions that the module answers to, as they stand
// there, with their slips mended.

private struct Post: Codable, Equatable, Sendable { var title: String }

private enum NetworkingError: Error { case clientError(any Error) }

@MainActor private final class Model {
  var posts: [Post] = []
  var postCount = 0
}

/// A server whose answers come from another thread, like those of a session.
private func load(_ path: String, _ completion: @escaping @Sendable (Data?, (any Error)?) -> Void) {
  DispatchQueue.global().async {
    switch path {
    case "posts": completion(Data(#"[{"title":"a"},{"title":"b"}]"#.utf8), nil)
    case "nothing": completion(nil, nil)
    case "garbage": completion(Data("?".utf8), nil)
    default: completion(nil, TestError.first)
    }
  }
}

@Suite("Programs of the introduction", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedExampleTests {
  private let queue = TaskQueue(name: "com.example.network-background", qos: .background)

  @MainActor private func opening(_ path: String, _ model: Model) -> ProducerTask<[Post], Never> {
    // Task #1
    BlockProducerTask<Data?, NetworkingError>(qos: .userInitiated, priority: .veryHigh) {
      (task, finish) in
      guard !task.isCancelled else {
        finish(.failure(.internal(ProducerTaskError.executionFailure)))
        return
      }
      load(path) { (data, error) in
        if let error = error {
          finish(.failure(.provided(.clientError(error))))
          return
        }
        finish(.success(data))
      }
    }
    .compactMap { $0 }  // Task #2
    .decode(type: [Post].self, decoder: JSONDecoder())  // Task #3
    .catch { _ in  // Task #4
      NonFailBlockProducerTask<[Post]> { _, finish in finish(.success([Post(title: "none")])) }
    }
    .receive(on: .main)
    .assign(to: \.posts, on: model)
  }

  @MainActor @Test("101. The opening example: block, compactMap, decode, catch, receive, assign")
  func openingExample() async {
    let model = Model()
    let task = opening("posts", model)
    queue.addTask(task)
    _ = await task.completion
    #expect(await eventually { model.posts == [Post(title: "a"), Post(title: "b")] })
    for path in ["garbage", "missing"] {
      let model = Model()
      let task = opening(path, model)
      queue.addTask(task)
      #expect(await task.outcome() == .success)
      #expect(await eventually { model.posts == [Post(title: "none")] })
    }
    // What is no provided error is not caught, and nothing hangs.
    let nothing = opening("nothing", model)
    queue.addTask(nothing)
    #expect(await nothing.outcome() == .nilOutput)
    let cancelled = opening("posts", model)
    cancelled.cancel()
    queue.addTask(cancelled)
    #expect(await cancelled.outcome() == .cancelled)
  }

  @Test("A queue: tasks, one for later, a block, a barrier")
  func taskQueue() async {
    let log = Log<String>()
    let t1 = Sample<Int> { _, finish in finish(.success(1)) }
    let t2 = Sample<Int> { _, finish in finish(.success(2)) }
    let t3 = Sample<Int> { _, finish in finish(.success(3)) }
    queue.addTask(t1)
    queue.addTask(t2)
    queue.addTaskAfter(t3, deadline: .now() + 0.01)
    queue.addBlock { log.append("block") }
    queue.addBarrierBlock { log.append("barrier \(t1.isFinished && t2.isFinished)") }
    #expect(await t3.outcome() == .success)
    await queue.finished()
    #expect(log.entries == ["block", "barrier true"])
  }

  enum MyFirstProducerTaskError: Error {
    case clientError(any Error)
    case missing
  }

  final class MyFirstProducerTask: ProducerTask<Data?, MyFirstProducerTaskError>,
    @unchecked Sendable
  {
    override func execute() {
      load("posts") { data, error in
        guard !self.isCancelled else {
          self.finish(with: .failure(.internal(ProducerTaskError.executionFailure)))
          return
        }
        if let error = error {
          self.finish(with: .failure(.provided(.clientError(error))))
          return
        }
        self.finish(with: .success(data))
      }
    }

    override func cancel() {
      super.cancel()
    }
  }

  enum InternalError: Error { case oops }

  class MyTask<Output: Sendable, Failure: Error>: ProducerTask<Output, Failure>,
    @unchecked Sendable
  {
    func someInternalMethod() {
      finish(with: .failure(.internal(InternalError.oops)))
    }
  }

  enum UsersError: Error { case someFailure }

  final class UsersTask: MyTask<Int, UsersError>, @unchecked Sendable {
    override func execute() { finish(with: .failure(.provided(.someFailure))) }
  }

  final class OopsTask: MyTask<Int, UsersError>, @unchecked Sendable {
    override func execute() { someInternalMethod() }
  }

  final class MyNonFailTask: NonFailTask, @unchecked Sendable {
    override func execute() { finish(with: .success) }
  }

  final class MyNonFailProducerTask: NonFailProducerTask<Int>, @unchecked Sendable {
    override func execute() { finish(with: .success(100)) }
  }

  final class FinishingTask: VoidTask<UsersError>, @unchecked Sendable {
    let log = Log<String>()
    override func execute() { finish(with: .failure(.provided(.someFailure))) }
    override func finished(with produced: Produced) {
      switch produced {
      case .success: log.append("success")
      case .failure(.provided(let error)): log.append("\(error)")
      case .failure(.internal): log.append("internal")
      }
    }
  }

  @MainActor @Test("Subclasses, an abstract one among them, the hook, receive and assign")
  func subclasses() async {
    let t = MyFirstProducerTask()
    let users = UsersTask()
    let oops = OopsTask()
    let nothing = MyNonFailTask(qos: .userInitiated, priority: .high)
    let model = Model()
    let count = MyNonFailProducerTask().receive(on: .main).assign(to: \.postCount, on: model)
    let finishing = FinishingTask()
    let log = Log<String>()
    finishing.receive(completion: { (produced) in
      switch produced {
      case .success: log.append("success")
      case .failure(.provided(let error)): log.append("\(error)")
      case .failure(.internal(let error)): log.append("\(error)")
      }
    })
    queue.addAll([t, users, oops, nothing, count, finishing])
    #expect(await t.outcome() == .success)
    #expect(await users.outcome() == .provided)
    #expect(await oops.outcome() == .otherInternal)
    #expect(await nothing.outcome() == .success)
    #expect(await finishing.outcome() == .provided)
    #expect(finishing.log.entries == ["someFailure"])
    #expect(log.entries == ["someFailure"])
    #expect(await eventually { model.postCount == 100 })
  }

  enum LocationError: Error { case noPermission }

  final class GetPermissionTask: NonFailTask, @unchecked Sendable {
    override func execute() { finish(with: .success) }
  }

  final class GetLocationTask: ProducerTask<Int, LocationError>, @unchecked Sendable {
    private let accuracy: Int
    let permission = GetPermissionTask()

    init(accuracy: Int) {
      self.accuracy = accuracy
      super.init()
    }

    override func execute() {
      DispatchQueue.main.async { self.locationManager(didFailWithError: TestError.first) }
    }

    private func locationManager(didFailWithError error: any Error) {
      produce(new: permission)
      finish(with: .failure(.provided(.noPermission)))
    }
  }

  @Test("A task produces another one when it lacks a permission")
  func producing() async {
    let task = GetLocationTask(accuracy: 1)
    queue.addTask(task)
    #expect(await task.outcome() == .provided)
    #expect(await task.permission.outcome() == .success)
  }

  enum ImageError: Error { case noImage }

  final class Convert: ConsumerProducerTask<Data, String, ImageError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) {
      switch consumed {
      case .success(let data): finish(with: .success(String(decoding: data, as: UTF8.self)))
      case .failure(let error): finish(with: .failure(error))
      }
    }
  }

  final class Downsample: ConsumerProducerTask<String, String, ImageError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) {
      finish(with: consumed.map { String($0.prefix(2)) })
    }
  }

  final class GetImageTask: GroupProducerTask<String, ImageError>, @unchecked Sendable {
    init() {
      let download = BlockProducerTask<Data, ImageError> { _, finish in
        finish(.success(Data("image".utf8)))
      }
      let convert = Convert(producing: download)
      let downsample = Downsample(producing: convert)
      super.init(tasks: (download, convert, downsample))
      let notify = NonFailBlockProducerTask<String> { _, finish in
        finish(.success(downsample.consumed == nil ? "" : "notified"))
      }
      .addDependency(downsample)
      .receive { [unowned self] (produced) in
        switch produced {
        case .success(let image): self.finish(with: .success(image))
        case .failure(.internal(let error)): self.finish(with: .failure(.internal(error)))
        }
      }
      addTask(notify)
    }
  }

  final class GetSmallImageTask: GroupProducerTask<String, ImageError>, @unchecked Sendable {
    init() {
      let download = BlockProducerTask<Data, ImageError> { _, finish in
        finish(.success(Data("image".utf8)))
      }
      let convert = Convert(producing: download)
      let downsample = Downsample(producing: convert)
      super.init(tasks: (download, convert, downsample), produced: downsample)
    }
  }

  @Test("Groups: one that ends itself, one that ends with a member")
  func groups() async throws {
    let image = GetImageTask()
    let small = GetSmallImageTask()
    queue.addAll([image, small])
    #expect(try await image.value == "notified")
    #expect(try await small.value == "im")
  }

  final class MyOperation: Operation, @unchecked Sendable {
    override func main() {}
  }

  @Test("Gated and empty tasks")
  func gatedAndEmpty() async {
    let log = Log<String>()
    let myop = MyOperation()
    let task = GatedTask(qos: .userInitiated, priority: .veryHigh, operation: myop)
      .receive {
        switch $0 {
        case .success: log.append("success")
        case .failure: log.append("failure")
        }
      }
    let startingTask = EmptyTask()
    task.addDependency(startingTask)
    queue.addTask(task)
    queue.addTask(startingTask)
    #expect(await task.outcome() == .success)
    #expect(log.entries == ["success"])
    #expect(myop.isFinished)
  }

  @Test("A chain with dependencies and handlers on stages in the middle")
  func operators() async {
    enum NewError: Error { case new }
    let t1 = EmptyTask()
    let t2 = Manual<Int>()
    let log = Log<String>()
    let t = Sample<Data?>(qos: .userInitiated, priority: .high) { _, finish in finish(.success(nil))
    }
    .replaceNil { Data("ab".utf8) }
    .map { String(decoding: $0, as: UTF8.self) }
    .addDependency(t1)
    .mapError { _ in NewError.new }
    .addDependency(t2)
    .receive { log.append("\($0.successOrNil ?? "?")") }
    .flatMap { text in
      BlockProducerTask<Int, NewError> { _, finish in finish(.success(text.count)) }
    }
    .receive {
      switch $0 {
      case .success(let value): log.append("\(value)")
      case .failure(let error): log.append("\(error)")
      }
    }
    queue.addTask(t1)
    queue.addTask(t2)
    queue.addTask(t)
    await t2.started.opened()
    #expect(log.entries == [])
    t2.finish(with: .success(1))
    #expect(await t.outcome() == .success)
    #expect(log.entries == ["ab", "2"])
  }
}
