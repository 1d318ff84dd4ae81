import Properations
import Synchronization

/// A task that ingests all files of a scan: a group that grows while it runs.
///
///   ScanFolder ─▶ IngestFolder ┬▶ IngestFile ─▶ retry
///                              ├▶ IngestFile ─▶ retry
///                              └▶ ...
final class IngestFolder: GroupConsumerTask<Scan, Problem>, @unchecked Sendable {
  // Sendable: mutexes guard the scan and the files, the flag is atomic, and the rest
  // never changes.
  private let plan: IngestPlan
  private let hasClaimed = Atomic<Bool>(false)
  private let found = Mutex<Scan?>(nil)
  private let remaining = Mutex<ArraySlice<SourceFile>>([])

  init(_ plan: IngestPlan, producing scan: ScanFolder) {
    self.plan = plan
    super.init(name: "ingest", producing: scan, tasks: [])
  }

  override func execute(with consumed: Consumed) {
    do throws(ProducerTaskProtocolError<Problem>) {
      begin(try consumed.get())
    } catch {
      finish(with: .failure(error))
    }
    super.execute(with: consumed)
  }

  /// All members have finished too, so no more sidecars are published.
  override func finished(with produced: Produced) {
    plan.publisher.finish()
    // Folders that could not be read may contain the files.
    if plan.prunes, produced.isSuccess, !plan.ledger.isStopped,
      let scan = found.withLock({ $0 }), scan.problems.isEmpty
    {
      let pruning = Pruning(plan.output, keepingThoseOf: scan.files)
      plan.ledger.add(pruned: pruning.count, pruning.problems)
    }
    if hasClaimed.load(ordering: .acquiring) { plan.output.tidyUp() }
    plan.output.release()
  }

  private func begin(_ scan: Scan) {
    if plan.mode != .verify {
      do throws(Problem) {
        try plan.output.claim()
        hasClaimed.store(true, ordering: .releasing)
      } catch {
        return finish(with: .failure(.provided(error)))
      }
    }
    plan.ledger.begin(scan)
    found.withLock { $0 = scan }
    remaining.withLock { $0 = scan.files[...] }
    for _ in 0..<plan.jobs { goOn() }
  }

  /// Adds the task of the next file; when it has finished, the one of the file after that.
  ///
  /// So there are as many tasks as jobs, however many files there are. A system call that
  /// hangs does not hold up the others: the task that has timed out counts as finished.
  private func goOn() {
    // After a full disk every other file would fail in the same way.
    guard !isCancelled, !plan.ledger.isStopped,
      let file = remaining.withLock({ $0.popFirst() })
    else { return }
    if plan.hangs { return plan.ledger.stop(Problem(tooManyHangBefore: file.name), failing: 0) }
    let plan = plan
    addTask(
      IngestFile(file, plan).retry(plan.retries) { _ in IngestFile(file, plan) }
        // A file that fails does not fail the group.
        .replaceError { problem in .failed(problem) }
        .receive { [weak self] produced in
          if case .success(.written(let sidecar)) = produced { plan.publisher.add(sidecar) }
          plan.ledger.add(produced, for: file)
          self?.goOn()
        })
  }
}
