import Properations
import Synchronization

/// Work that takes time, reports its progress, and fails by chance.
///
/// Several tasks do this kind of work, so it is a subclass that overrides `main()`.
final class TimedTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: mutexes guard everything that changes.

  private let duration: Duration
  private let probabilityOfFailure: Double
  private let world: World
  private let deliver: @Sendable (TimedTask) throws -> Output
  private let run = Mutex((number: 0, began: Duration.zero))
  private let starts = Mutex(0)

  /// - Parameter deliver: Makes the result at the end. It may ask the task for the
  ///   results of its prerequisites.
  init(
    name: String, takes duration: Duration, failing probabilityOfFailure: Double, in world: World,
    deliver: @escaping @Sendable (TimedTask) throws -> Output
  ) {
    self.duration = duration
    self.probabilityOfFailure = probabilityOfFailure
    self.world = world
    self.deliver = deliver
    super.init(name: name)
    progressWeight = duration.components.seconds
  }

  /// Runs before any delegate learns of the start.
  override func didStart() { starts.withLock { $0 += 1 } }

  override func main() {
    // `currentWork` belongs to this run only. If the task is cancelled and retried, old
    // entries in the timeline have no effect.
    let work = currentWork
    let attempt = run.withLock { run in
      run.number += 1
      run.began = world.timeline.now
      return run.number
    }
    let end: Int
    if let part = world.chance.failure(
      of: name, attempt: attempt, probability: probabilityOfFailure)
    {
      end = world.timeline.after(duration * part) { work.fail(with: OrderError.connectionLost) }
    } else {
      end = world.timeline.after(duration) { [self] in
        work.end(with: Result { try deliver(self) })
      }
    }
    work.onStop { [world] in world.timeline.remove(end) }
  }

  /// The number of times the task was started.
  var attempts: Int { starts.withLock { $0 } }

  /// The fraction of the work that is done, from 0 to 1.
  var progress: Double {
    if isFinished { return 1 }
    guard isExecuting else { return 0 }
    return min((world.timeline.now - run.withLock { $0.began }) / duration, 1)
  }
}

/// The objects that all tasks share.
struct World: Sendable {
  let timeline: Timeline
  let chance: Chance
}
