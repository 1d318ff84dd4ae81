import Foundation
import Properations
import TestSupport
import Testing

/// Calls back unless it is turned off.
private final class Alarm: @unchecked Sendable {
  // Sendable: a dispatch source may be used from any thread.
  static let turnedOff = Promises.make(promising: Void.self)

  private let timer: any DispatchSourceTimer

  init(after seconds: Int, _ ring: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource()
    timer.setEventHandler(handler: ring)
    timer.schedule(deadline: .now() + .seconds(seconds))
    timer.activate()
  }

  func turnOff() {
    timer.cancel()
    Alarm.turnedOff.succeed()
  }
}

private func countdown(from seconds: Int) -> Future<Void> {
  func countdown(from seconds: Int) -> Future<Void> {
    let promise = Promises.make(promising: Void.self)
    let alarm = Alarm(after: seconds) { promise.succeed() }
    promise.onCancellationRequest { alarm.turnOff() }
    return promise
  }

  return countdown(from: seconds)
}

@Suite("Cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationSnippets {
  private let promise = Promises.make(promising: Data.self)

  /// A download that does not end by itself.
  private func download(_ url: URL) -> Future<Data> { promise }

  @Test("Cancel a future, and what nobody else wants")
  func cancel() {
    let picture = download(url).compactMapToValue(on: .global()) { data in Picture(data) }
    picture.cancel()
    #expect(picture.result?.failureValue as? ProperationsError == .cancelled)
    #expect(promise.isCancelled)
  }

  @Test("A failure is shown, a cancellation is not")
  func showFailures() async {
    let shown = Event()
    @Sendable func show(_ error: any Error) { shown.signal() }

    func watch(_ picture: Future<Picture>) async {
      picture.onFailure { error in
        if case ProperationsError.cancelled = error { return }
        show(error)
      }
      _ = await picture.always {}.completion
    }

    let cancelled = Promises.make(promising: Picture.self)
    cancelled.cancel()
    await watch(cancelled)
    #expect(!shown.isOpen)

    await watch(Promises.makeFailed(with: ServerError.noData))
    #expect(await shown.opened())
  }

  @Test("Keep a cancellation to yourself")
  func shield() {
    let shared = download(url)
    let mine = shared.shielded()
    mine.cancel()
    #expect(mine.isCancelled)
    #expect(!shared.isFulfilled)
  }

  @Test("Stop the work")
  func stopTheWork() async throws {
    countdown(from: 60).cancel()
    try await Alarm.turnedOff.value
  }

  @Test("Cancel many at once")
  func scope() {
    let screen = CancellationScope()
    let first = download(url).cancelled(by: screen)
    let second = download(other).cancelled(by: screen)

    screen.cancel()
    #expect(first.isCancelled)
    #expect(second.isCancelled)
  }

  @Test("A cancelled result further down")
  func cancelledResult() async throws {
    let title = Promises.make(promising: String.self)
    let text = title.mapResult(on: .inline) { result in
      guard case .failure(ProperationsError.cancelled) = result else { return result }
      return .success("Cancelled")
    }
    title.cancel()
    #expect(try await text.value == "Cancelled")
  }
}
