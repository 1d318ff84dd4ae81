// A closure `on: .main` uses what belongs to the main actor.
// error: main actor-isolated property 'text' can not be mutated
import Properations

@MainActor private final class Screen {
  var text = ""
}

private func mistake(_ text: Future<String>, _ screen: Screen) {
  text.onSuccess(on: .main) { screen.text = $0 }
}
