import Properations
import Synchronization

/// The results so far, shared with the progress line and the summary.
final class Ledger: Sendable {
  private let state = Mutex(Summary())

  init(isVerification: Bool = false) {
    state.withLock { $0.isVerification = isVerification }
  }

  var summary: Summary { state.withLock { $0 } }

  func begin(_ scan: Scan) {
    state.withLock { state in
      state.hasBegun = true
      state.begin = .now
      state.files = scan.files.count
      state.bytes = scan.files.reduce(0) { $0 + $1.status.size }
      state.problems = scan.problems
    }
  }

  func add(bytesRead count: Int) { state.withLock { $0.bytesRead += Int64(count) } }

  /// Adds the result of a file's task.
  ///
  /// A written file counts when its sidecar is published.
  func add(_ produced: NonFailProducerTask<Outcome>.Produced, for file: SourceFile) {
    switch produced {
    case .success(.written): break
    case .success(.unchanged(let sidecar)):
      state.withLock { state in
        state.unchanged += 1
        state.types[sidecar.type.name, default: 0] += 1
        state.bytesDone += file.status.size
      }
    case .success(.failed(let problem)): add(problem)
    case .failure(let error) where error.isCancelled: break
    case .failure(.internal(let error)): add(Problem(file.name, error))
    }
  }

  /// Adds published sidecars.
  func add(_ published: [Sidecar]) {
    state.withLock { state in
      state.written += published.count
      for sidecar in published {
        state.types[sidecar.type.name, default: 0] += 1
        state.bytesDone += sidecar.size
      }
    }
  }

  /// Adds a problem with one file.
  func add(_ problem: Problem) {
    if problem.isGeneral { return stop(problem, failing: 1) }
    state.withLock { state in
      state.failed += 1
      state.problems.append(problem)
    }
  }

  /// Records a problem that stops all files; only the first one is reported.
  func stop(_ problem: Problem, failing count: Int) {
    state.withLock { state in
      state.failed += count
      if state.obstacle == nil {
        state.obstacle = problem
        state.problems.append(problem)
      }
    }
  }

  /// Whether a problem has stopped all files.
  var isStopped: Bool { state.withLock { $0.obstacle != nil } }

  func add(pruned count: Int, _ problems: [Problem]) {
    state.withLock { state in
      state.pruned = (state.pruned ?? 0) + count
      state.problems += problems
    }
  }

  /// Adds the result of the whole ingest.
  func close(_ produced: IngestFolder.Produced?) {
    state.withLock { state in
      defer { state.problems.sort { ($0.file, $0.message) < ($1.file, $1.message) } }
      if state.obstacle != nil { return }
      switch produced {
      case nil, .success:
        state.isComplete = true
      case .failure(let error) where error.isCancelled:
        break
      case .failure(.provided(let problem)):
        state.problems.append(problem)
      case .failure(.internal):
        // The errors of the files' tasks have been added already.
        state.isComplete = true
      }
    }
  }
}
