import Foundation
import Properations
import TestSupport
import Testing

// The snippets of the comments in Sources/TypedTasks, in a namespace of their
// own: other documents have types of these names.
private enum TypedTasksComments {
  enum ImageError: Error { case tooSmall }

  @Sendable static func diskHasSpace() -> Bool { true }

  enum server { static func isReady() async throws -> Bool { true } }

  @Sendable static func store(_ data: Data) async throws -> URL {
    URL(fileURLWithPath: "/").appendingPathComponent("\(data.count)")
  }

  @Sendable static func download(_ url: URL) -> BlockProducerTask<Data, URLError> {
    BlockProducerTask { _, finish in finish(.success(Data(url.path.utf8))) }
  }

  @Sendable static func download(_ url: URL) async throws(URLError) -> Data { Data(url.path.utf8) }

  struct FileExists: TaskCondition {
    let path: String

    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, CocoaError>) -> Void
    ) {
      let exists = FileManager.default.fileExists(atPath: path)
      completion(exists ? .success : .failure(CocoaError(.fileNoSuchFile)))
    }
  }

  final class CountBytes: AsyncProducerTask<Int, URLError>, @unchecked Sendable {
    private let url: URL

    init(at url: URL) {
      self.url = url
      super.init()
    }

    override func perform() async throws(URLError) -> Int { try await download(url).count }
  }

  final class Resize: ConsumerProducerTask<Data, Data, ImageError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) {
      finish(with: consumed.map { data in data.prefix(1024) })
    }
  }

  final class CountLines: ProducerTask<Int, CocoaError>, @unchecked Sendable {
    private let path: String

    init(of path: String) {
      self.path = path
      super.init(qos: .utility)
    }

    override func execute() {
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        return finish(with: .failure(.provided(CocoaError(.fileReadUnknown))))
      }
      finish(with: .success(text.split(separator: "\n").count))
    }
  }

  final class Thumbnails: GroupConsumerTask<Data, ImageError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) {
      if case .success(let data) = consumed {
        for size in [64, 128] {
          addTask(
            BlockTask<ImageError> { task, finish in
              finish(data.count > size ? .success : .failure(.provided(.tooSmall)))
            })
        }
      }
      super.execute(with: consumed)
    }
  }

  final class Download: ProducerTask<Data, ImageError>, @unchecked Sendable {
    private let url: URL

    init(_ url: URL) {
      self.url = url
      super.init()
    }

    override func execute() { finish(with: .success(Data(url.path.utf8))) }
  }

  final class Check: ConsumerProducerTask<Data, Int, ImageError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) { finish(with: consumed.map(\.count)) }
  }
}

extension TypedTasksComments {
  @Suite("Comments of TypedTasks", .timeLimit(.minutes(5)), .oneAtATime)
  struct Snippets {
    private let queue = TaskQueue()

    @Test("A subclass, a condition of a type of one's own and one of a closure, an observer")
    func subclass() async throws {
      let log = Log<String>()
      let task = CountLines(of: Documents.root.appendingPathComponent("README.md").path)
      task.addCondition(FileExists(path: Documents.root.path))
      task.addCondition(BlockCondition { task in diskHasSpace() })
      task.addCondition(BlockCondition { task in try await server.isReady() })
      task.addObserver(BlockObserver(didFinish: { task in log.append("done: \(task)") }))
      queue.addTask(task)
      #expect(try await task.value > 100)
      #expect(log.entries.count == 1)
    }

    @Test("A task tells how far it is")
    func ownProgress() async throws {
      enum CopyError: Error { case full }
      struct Bar { var value = 0.0 }
      var bar = Bar()
      let files = ["a", "b"]
      let copied = Log<String>()
      @Sendable func store(_ file: String) { copied.append(file) }
      let copy = BlockProducerTask<Int, CopyError> { task, finish in
        for (index, file) in files.enumerated() {
          store(file)
          task.report(completed: index + 1, of: files.count)
        }
        finish(.success(files.count))
      }
      queue.addTask(copy)
      for await progress in copy.progressUpdates {
        bar.value = progress.fractionCompleted
      }
      #expect(bar.value == 1 && copied.count == 2)
    }

    @Test("Consumers, and groups that consume")
    func consumers() async throws {
      let data = Download(url)
      let resized = Resize(producing: data)
      let thumbnails = Thumbnails(producing: data, tasks: [])
      for task in [data, resized, thumbnails] as [any ProducerTaskProtocol] { queue.addTask(task) }
      #expect(try await resized.value.count == 11)
      _ = await thumbnails.completion
      #expect(thumbnails.produced?.isTooSmall == true)
    }

    @Test("A group as a member's result")
    func group() async throws {
      let download = Download(url)
      let check = Check(producing: download)
      let group = GroupProducerTask(tasks: (download, check), produced: check)
      queue.addTask(group)

      #expect(try await group.value == 11)
    }

    @Test("Values of several tasks")
    func zip() async throws {
      let profile = NonFailBlockProducerTask<Profile> { _, finish in finish(.success(Profile())) }
      let albums = NonFailBlockProducerTask<[Album]> { _, finish in finish(.success([])) }
      let friends = NonFailBlockProducerTask<[Profile]> { _, finish in finish(.success([])) }
      queue.addTask(profile.zip(albums, friends).map { profile, albums, friends in 3 })
      _ = try await friends.value
    }

    @Test("Another attempt")
    func retry() async throws {
      let task =
        download(url)
        .retry(RetryPolicy(attempts: 4, delay: .exponential(.milliseconds(200)))) { attempt in
          download(url)
        }
      queue.addTask(task)
      #expect(try await task.value.count == 11)
      queue.addTask(Tasks.retry(RetryPolicy(attempts: 3)) { attempt in download(url) })
    }

    @Test("An error of a condition")
    func conditionErrors() async throws {
      let path = "/no/such/file"
      let lines = CountLines(of: path)
        .addCondition(FileExists(path: path))
        .catch(from: CocoaError.self) { error in Tasks.just(0) }
      queue.addTask(lines)
      #expect(try await lines.value == 0)
    }

    @Test("Progress of as many tasks as come")
    func progress() async {
      let links = [url, url]
      let printed = Log<String>()
      @Sendable func print(_ line: String) { printed.append(line) }
      @Sendable func load(_ url: URL) -> BlockProducerTask<Data, URLError> { download(url) }
      let progress = Observers.Progress { done, total in print("\(done) of \(total)") }
      for link in links {
        progress.expect(1)
        queue.addTask(load(link).addObserver(progress))
      }
      #expect(await eventually { printed.entries.last == "2 of 2" })
    }

    @MainActor
    final class Counter {
      private(set) var lines = 0

      func show(_ count: CountLines) {
        count.receive { result in
          if case .success(let lines) = result { self.lines = lines }
        }
      }
    }

    @Test("A handler in a class on the main actor")
    @MainActor
    func handlerOnMain() async throws {
      let count = CountLines(of: Documents.root.appendingPathComponent("README.md").path)
      let counter = Counter()
      counter.show(count)
      queue.addTask(count)
      let lines = try await count.value
      #expect(await eventually { counter.lines == lines })
    }

    @Test("Closures that return a value or throw")
    func throwing() async throws {
      let file = Documents.root.appendingPathComponent("README.md")
      let lines = BlockProducerTask<Int, any Error> { task in
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count
      }
      let page = BlockProducerTask<Data, any Error> { task in Data(url.path.utf8) }
      let size = BlockConsumerProducerTask(producing: page) { data in data.count }
      let sizeOrZero = BlockConsumerProducerTask<Data, Int, any Error>(producing: page) {
        task, consumed in
        (try? consumed.get().count) ?? 0
      }
      let stored = AsyncBlockConsumerProducerTask(producing: page) { data in
        try await store(data)
      }

      let tasks: [any ProducerTaskProtocol] = [lines, page, size, sizeOrZero, stored]
      for task in tasks { queue.addTask(task) }
      #expect(try await lines.value > 100)
      #expect(try await (size.value, sizeOrZero.value) == (11, 11))
      #expect(try await stored.value.path == "/11")
    }

    @Test("Awaiting with the type of the error")
    func typedErrors() async throws {
      func size(
        of page: ProducerTask<Data, URLError>
      ) async throws(ProducerTaskProtocolError<URLError>) -> Int {
        do {
          return try await page.get().count
        } catch .provided(let error) {
          return error.code == .timedOut ? 0 : -1
        } catch {
          return -2
        }
      }
      let page: BlockProducerTask<Data, URLError> = download(url)
      let count = CountBytes(at: url)
      queue.addTask(count)
      #expect(try await count.value == url.path.utf8.count)

      queue.addTask(page)
      #expect(try await size(of: page) == 11)
      #expect(try await size(of: Tasks.fail(URLError(.timedOut))) == 0)
      #expect(try await size(of: Tasks.fail(URLError(.badURL))) == -1)
      let cancelled: BlockProducerTask<Data, URLError> = download(url)
      cancelled.cancel()
      #expect(try await size(of: cancelled) == -2)
    }

    @Test("Values that are there already")
    func ready() async throws {
      @Sendable func load(_ url: URL) -> ProducerTask<Data, URLError> { download(url) }
      @Sendable func shrink(_ data: Data) -> ProducerTask<Data, URLError> { Tasks.just(data) }
      @Sendable func loadPosts(_ url: URL) -> ProducerTask<[String], URLError> {
        Tasks.fail(URLError(.timedOut))
      }
      let savedPosts = ["Saved"]
      let posts = loadPosts(url).catch { error in Tasks.just(savedPosts) }
      let thumbnail = load(url).flatMap { data in
        data.count > 1024 ? shrink(data) : Tasks.just(data)
      }

      let size = load(url)
        .filter { data in !data.isEmpty }
        .map(\.count)
        .replaceEmpty(with: 0)
        .catch { error in Tasks.just(-1) }

      queue.addTask(size)
      #expect(try await size.value == 11)
      queue.addTask(posts)
      queue.addTask(thumbnail)
      #expect(try await posts.value == savedPosts)
      #expect(try await thumbnail.value.count == 11)
    }

    @Test("A queue")
    func queueOfItsOwn() async {
      let queue = TaskQueue(name: "com.example.images", qos: .utility, maxConcurrentTaskCount: 2)
      queue.addTask(BlockTask<CocoaError> { task, finish in finish(.success) })
      #expect(queue.maxConcurrentTaskCount == 2)
    }

    @Test("A rate limiter as a condition")
    func rates() async throws {
      struct Page: Sendable { let host: String }
      let pages = [Page(host: "a"), Page(host: "b")]
      let hosts = Log<String>()
      func fetch(_ page: Page) -> ProducerTask<Void, CocoaError> {
        BlockTask<CocoaError> { _, finish in
          hosts.append(page.host)
          finish(.success)
        }
      }
      let check = fetch

      let limiter = RateLimiter(permits: 10, per: .seconds(1))
      for page in pages { queue.addTask(fetch(page).addCondition(limiter)) }
      for page in pages { queue.addTask(check(page).addCondition(.rate(limiter, for: page.host))) }
      #expect(await eventually { hosts.count == 4 })
    }

    @Test("Closures, async and with a handler")
    func closures() async throws {
      let page = AsyncBlockProducerTask<Data, URLError> { task throws(URLError) in
        try await download(url)
      }
      let answer = BlockProducerTask<Int, URLError> { task, finish in
        guard !task.isCancelled else {
          return finish(.failure(.internal(ProducerTaskError.cancelled)))
        }
        finish(.success(42))
      }

      queue.addTask(page)
      queue.addTask(answer)
      #expect(try await page.value.count == 11)
      #expect(try await answer.value == 42)
    }
  }
}

extension Result
where Success == Void, Failure == ProducerTaskProtocolError<TypedTasksComments.ImageError> {
  fileprivate var isTooSmall: Bool {
    if case .failure(.provided(.tooSmall)) = self { true } else { false }
  }
}
