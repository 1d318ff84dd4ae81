import Properations

/// A task that writes a sidecar.
///
/// The publisher puts it in its place later, together with others.
final class WriteSidecar: ConsumerProducerTask<Sidecar, Outcome, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let place: SidecarPlace
  private let plan: IngestPlan

  init(to place: SidecarPlace, _ plan: IngestPlan, producing sidecar: ProducingTask) {
    self.place = place
    self.plan = plan
    super.init(name: "write \(place.name)", producing: sidecar)
  }

  override func execute(with consumed: Consumed) {
    finish(
      with: consumed.tryMap { sidecar throws(Problem) in
        plan.publisher.add(try plan.output.write(sidecar, for: place))
        return .written(sidecar)
      })
  }
}
