import TestSupport
import Testing

@Suite("State spaces", .timeLimit(.minutes(5)), .oneAtATime)
struct StateSpaceTests {
  @Test func `every event is tried in every state that can be reached, each state once`() {
    // A counter modulo six that goes up by two or three.
    let survey = StateSpace.explore(from: 0, events: [2, 3], key: { $0 }) { state, step in
      state = (state + step) % 6
      return nil
    }
    #expect(survey.states == 6)
    #expect(survey.events == 12)
    #expect(survey.fault == nil)
  }

  @Test func `a fault comes with the shortest sequence that leads to it`() {
    let survey = StateSpace.explore(from: 0, events: [1, 3], key: { $0 }) { state, step in
      state += step
      return state == 7 ? "seven" : nil
    }
    #expect(survey.fault == "seven, after [1, 3, 3]")
  }

  @Test func `a walk without end is a fault`() {
    let survey = StateSpace.explore(from: 0, events: [1], limit: 50, key: { $0 }) { state, _ in
      state += 1
      return nil
    }
    #expect(survey.fault == "more than 50 states")
  }
}
