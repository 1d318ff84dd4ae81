import Properations
import Synchronization

/// Work that takes its time, says how far it has come, and fails by chance.
///
/// A kind of work that several tasks do is a subclass: it overrides `main()`.
final class TimedTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: nothing changes but what is behind the mutex.

  private let duration: Duration
  private let probabilityOfFailure: Double
  private let world: World
  private let deliver: @Sendable (TimedTask) throws -> Output
  private let run = Mutex((number: 0, began: Duration.zero))
  private let starts = Mutex(0)

  /// - Parameter deliver: Makes the result in the end; it may ask the task for
  ///   the results of its prerequisites.
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

  /// Comes before anyone else is told of the start.
  override func didStart() { starts.withLock { $0 += 1 } }

  override func main() {
    // This run and no later one: should the task be cancelled and retried, what
    // is still on the agenda means nothing any more.
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

  /// How often the task has been started.
  var attempts: Int { starts.withLock { $0 } }

  /// How much of the work is done, from 0 to 1.
  var progress: Double {
    if isFinished { return 1 }
    guard isExecuting else { return 0 }
    return min((world.timeline.now - run.withLock { $0.began }) / duration, 1)
  }
}

/// What all work has in common.
struct World: Sendable {
  let timeline: Timeline
  let chance: Chance
}
