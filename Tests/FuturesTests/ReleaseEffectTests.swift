import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// The paths on which the release is part of a user's call already.
private let inTime: Set = [
  "mapToValue, after it ran", "mapToValue on a context, after it ran",
  "compactMapToValue that returns nil", "mapToFuture", "mapResult", "ensure that fails",
  "recover, after it ran", "recoverToFuture", "mapError", "always, after it ran",
  "onCompletion on a context, after it ran", "the completion block of a future that nobody holds",
  "Promises.run, after it ran", "an element of a batch",
  "the value of a closure whose future was cancelled meanwhile",
]

/// What the release of a captured object settles takes effect before the call
/// that settles it returns.
@Suite("Settling in a deinit", .timeLimit(.minutes(5)), .oneAtATime)
struct ReleaseEffectTests {
  @Test(arguments: ReleasePath.all, SettlesWhenReleased.Wait.allCases)
  func `a deinit that settles a promise and waits for its consumer gets the value`(
    _ path: ReleasePath, _ wait: SettlesWhenReleased.Wait
  ) async throws {
    let answer = SettlesWhenReleased.Answer(nil)
    let release = path.prepare {
      SettlesWhenReleased(wait, within: patience, answer: answer)
    }
    #expect(answer.value == nil)
    Thread { release() }.start()
    #expect(await eventually { answer.value != nil })
    #expect(answer.value == true)
  }
}
