import Properations
import Synchronization

/// What has become of the files so far, for whoever wants to know: the line on
/// the terminal, and the summary in the end.
final class Ledger: Sendable {
  private let state = Mutex(Summary())
  private let onRead = Mutex<(@Sendable () -> Void)?>(nil)

  var summary: Summary { state.withLock { $0 } }

  /// Calls a closure whenever a part of a file has been read.
  func notify(_ closure: @escaping @Sendable () -> Void) { onRead.withLock { $0 = closure } }

  func begin(_ scan: Scan) {
    state.withLock { state in
      state.hasBegun = true
      state.files = scan.files.count
      state.problems = scan.problems
    }
  }

  func add(bytesRead count: Int) {
    state.withLock { $0.bytesRead += Int64(count) }
    onRead.withLock { $0 }?()
  }

  /// Takes the result of a file's task.
  func add(_ produced: IngestFile.Produced, for file: SourceFile) {
    state.withLock { state in
      switch produced {
      case .success(.written(let sidecar)):
        state.written += 1
        state.types[sidecar.type.name, default: 0] += 1
      case .success(.unchanged(let sidecar)):
        state.unchanged += 1
        state.types[sidecar.type.name, default: 0] += 1
      case .success(.failed(let problem)):
        state.failed += 1
        state.problems.append(problem)
      case .failure(let error) where error.isCancelled:
        break
      case .failure(.internal(let error)):
        state.failed += 1
        state.problems.append(Problem(file.name, error))
      }
    }
  }

  /// Takes the result of the whole.
  func close(_ produced: IngestFolder.Produced?) {
    state.withLock { state in
      state.problems.sort { ($0.file, $0.message) < ($1.file, $1.message) }
      switch produced {
      case nil, .success:
        state.isComplete = true
      case .failure(let error) where error.isCancelled:
        break
      case .failure(.provided(let problem)):
        state.problems.append(problem)
      case .failure(.internal):
        // What a file's task has failed with is there already.
        state.isComplete = true
      }
    }
  }
}
