import Futures
import TestSupport
import Testing

@Suite("FutureResult", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureResultTests {
  @Test func `a success has a value and no error`() {
    let result = FutureResult<Int>.success(1)
    #expect(result.successValue == 1)
    #expect(result.failureValue == nil)
    #expect(result.isSuccess)
    #expect(!result.isFailure)
  }

  @Test func `a failure has an error and no value`() {
    let result = FutureResult<Int>.failure(TestError.first)
    #expect(result.successValue == nil)
    #expect(result.failureValue as? TestError == .first)
    #expect(!result.isSuccess)
    #expect(result.isFailure)
  }

  @Test func `the success of Void needs no value`() {
    let promise = Promise<Void>()
    promise.fulfill(with: .success)
    #expect(promise.result?.isSuccess == true)
  }
}
