"""What is known of a run: its setup, and the answers for the batch and the dataset.

Weights, model, dataset and batch come from the session; a change of one of them drops the answers
that it makes untrue. Everything is made in jobs; whoever draws it listens to ``changed``.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from ruda.progress import Monitor
from ruda.session import (
    Document,
    JobFailure,
    RunPage,
    RunSetup,
    TargetChoice,
    run_page,
    run_setup,
    tr,
)
from ruda.store import DiffReport
from ruda_workbench.context import Context
from ruda_workbench.mending import Mend, can_run, find_mend
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.run_work import BatchAnswer, DatasetAnswer, Question, Runner


class RunWatch(QObject):
    """Follows the session while the Run screen is shown."""

    changed = Signal()
    """Setup, answers or what is running is another."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._comparing = Latest(context.jobs, self)
        self._batch_question = Latest(context.jobs, self)
        self._dataset_question = Latest(context.jobs, self)
        self._chosen: dict[int, TargetChoice] = {}
        self._compared: tuple[Document, TargetChoice] | None = None
        self._report: DiffReport | None = None
        self._refusal = ""
        self._mending = Latest(context.jobs, self)
        self._mend: Mend | None = None
        self._wanted = ""
        self._halted = False
        self.batch: BatchAnswer | None = None
        self.dataset: DatasetAnswer | None = None
        self._failure: tuple[Question | None, str] = (None, "")
        self._page: tuple[object, RunPage] | None = None
        self._asked_batch: Question | None = None
        self._asked_dataset: Question | None = None

    # What it is about

    @property
    def choice(self) -> TargetChoice | None:
        """The model that was picked here, else the target of the document in front."""
        document = self._context.session.active
        if document is None:
            return None
        return self._chosen.get(document.id, document.target)

    @property
    def question(self) -> Question | None:
        """What a run would be about; None while something is missing."""
        session, choice = self._context.session, self.choice
        if session.active is None or choice is None or session.dataset is None:
            return None
        return Question(session.active, choice, session.dataset, session.batch)

    @property
    def setup(self) -> RunSetup:
        """The state before a run."""
        session = self._context.session
        return run_setup(
            session.active,
            self.choice,
            self._report,
            session.dataset,
            session.batch,
            problem=self._refusal,
            mended=None if self._mend is None else self._mend.report,
            halted=self._halted,
        )

    @property
    def mend(self) -> Mend | None:
        """The certain suggestions that would let a run start; None where there are none."""
        return self._mend

    @property
    def page(self) -> RunPage:
        """What the answers say."""
        answers = (self.batch, self.dataset)
        if self._page is None or self._page[0] != answers:
            page = run_page(
                None if self.batch is None else self.batch.run,
                None if self.dataset is None else self.dataset.evaluation,
            )
            self._page = (answers, page)
        return self._page[1]

    @property
    def is_running_batch(self) -> bool:
        """True while the batch is being run."""
        return self._batch_question.is_waiting

    @property
    def is_running_dataset(self) -> bool:
        """True while the whole dataset is being run."""
        return self._dataset_question.is_waiting

    @property
    def failure(self) -> str:
        """Why the last run of this question gave no answer; empty for none."""
        question, text = self._failure
        return text if question is not None and question == self.question else ""

    # Following

    def choose(self, name: str) -> None:
        """Take another model for the document in front."""
        document = self._context.session.active
        if document is not None:
            self._chosen[document.id] = TargetChoice.of(name)
            self.look()

    def look(self) -> None:
        """Compare weights and model anew where they changed, and drop untrue answers."""
        question = self.question
        if question is None:
            self._context.models.release()  # a model that nothing is asked of takes memory
        if self.batch is not None and self.batch.question != question:
            self.batch = None
        if self.dataset is not None and not self.dataset.question.same_dataset(question):
            self.dataset = None
        if self.is_running_batch and self._asked_batch != question:
            self._batch_question.drop()
        asked = self._asked_dataset
        if self.is_running_dataset and (asked is None or not asked.same_dataset(question)):
            self._dataset_question.drop()
        self._compare()
        self.changed.emit()

    def stop(self) -> None:
        """Drop a comparison that is being made; runs go on."""
        if self._comparing.is_waiting or self._mending.is_waiting:
            self._comparing.drop()
            self._mending.drop()
            self._compared = None
            self._wanted = ""

    def _about(self) -> tuple[Document, TargetChoice] | None:
        document, choice = self._context.session.active, self.choice
        return None if document is None or choice is None else (document, choice)

    def _compare(self) -> None:
        about = self._about()
        if about == self._compared:
            return
        self._compared = about
        self._report, self._refusal, self._mend = None, "", None
        self._halted, self._wanted = False, ""  # a run that waits was wanted of something else
        self._comparing.drop()
        self._mending.drop()
        if about is None or about[1].is_file:
            return
        document, derived = about[0].with_target(about[1]), self._context.derived

        def work(monitor: Monitor) -> DiffReport:
            return derived.report(document, monitor=monitor)

        def done(report: DiffReport) -> None:
            self._report = report
            if not can_run(report):
                self._look_for_mend(document)
            self.changed.emit()
            self._start_wanted()

        def failed(failure: JobFailure) -> None:
            self._refusal, self._wanted = failure.summary, ""
            self._tell_fault(title, failure)
            self.changed.emit()

        title = tr("Comparing {name}", name=document.name)
        self._comparing.ask(title, work, done, failed, self._halt)

    def _halt(self) -> None:
        """Somebody stopped the comparison; the next look makes it anew."""
        self._compared, self._halted, self._wanted = None, True, ""
        self.changed.emit()

    def _tell_fault(self, title: str, failure: JobFailure) -> None:
        """Tell of a fault of the program; what is refused stands where a run would."""
        if not failure.expected:
            self._context.fail(title, failure)

    def _look_for_mend(self, document: Document) -> None:
        """Try the certain suggestions; nothing is taken."""
        derived = self._context.derived

        def work(monitor: Monitor) -> Mend | None:
            return find_mend(document, derived, monitor)

        def done(mend: Mend | None) -> None:
            self._mend = mend
            self.changed.emit()

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            done(None)  # the load diff says why

        title = tr("Looking for suggestions")
        self._mending.ask(title, work, done, failed)

    # Running

    def run_batch(self) -> None:
        """Run the batch, as soon as the setup is known."""
        self._wanted = "batch"
        self._start_wanted()

    def run_dataset(self) -> None:
        """Run the whole dataset, as soon as the setup is known."""
        self._wanted = "dataset"
        self._start_wanted()

    def stop_dataset(self) -> None:
        """Stop running the whole dataset."""
        self._dataset_question.drop()
        self.changed.emit()

    def _start_wanted(self) -> None:
        setup, question = self.setup, self.question
        if setup.is_waiting:
            return
        wanted, self._wanted = self._wanted, ""
        if question is None or not setup.can_run or not wanted:
            return
        self._failure = (None, "")
        if wanted == "batch":
            self._ask_batch(question, setup)
        else:
            self._ask_dataset(question, setup)
        self.changed.emit()

    @property
    def _runner(self) -> Runner:
        return Runner(self._context.models, self._context.storage.settings.header_limit << 20)

    def _ask_batch(self, question: Question, setup: RunSetup) -> None:
        self._asked_batch = question
        runner = self._runner

        def work(monitor: Monitor) -> BatchAnswer:
            return runner.run_one(question, monitor)

        def done(answer: BatchAnswer) -> None:
            if answer.question == self.question:
                self.batch = answer
            self.changed.emit()

        stopped = self.changed.emit
        failed = partial(self._failed, question)
        self._batch_question.ask(
            tr("Running {model}", model=setup.model), work, done, failed, stopped
        )

    def _ask_dataset(self, question: Question, setup: RunSetup) -> None:
        self._asked_dataset = question
        runner = self._runner

        def work(monitor: Monitor) -> DatasetAnswer:
            return runner.run_all(question, monitor)

        def done(answer: DatasetAnswer) -> None:
            if answer.question.same_dataset(self.question):
                self.dataset = answer
            self.changed.emit()

        title = tr("Running {model} on the dataset", model=setup.model)
        failed = partial(self._failed, question)
        self._dataset_question.ask(title, work, done, failed, self.changed.emit)

    def _failed(self, question: Question, failure: JobFailure) -> None:
        self._failure = (question, failure.summary)
        if not failure.expected and question == self.question:
            self._context.fail(tr("The model could not be run"), failure)
        self.changed.emit()
