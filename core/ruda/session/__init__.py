"""What the workbench and the command line share: documents, jobs, settings and pages.

Modules of this room are entered by name where they are heavy: ``ruda.session.pages`` for screens,
``ruda.session.runner`` for running models, ``ruda.session.command`` for the equal command line.
"""

from ruda.session.document import Document, History, HistoryStep, TargetChoice
from ruda.session.jobs import Job, JobFailure, JobNews, Jobs, JobState
from ruda.session.recents import Recent, Recents, add_recent, read_recents
from ruda.session.session import Changes, OpenDataset, Session
from ruda.session.settings import SettingInfo, Settings, SettingsFile, read_settings, write_settings

__all__ = [
    "Changes",
    "Document",
    "History",
    "HistoryStep",
    "Job",
    "JobFailure",
    "JobNews",
    "JobState",
    "Jobs",
    "OpenDataset",
    "Recent",
    "Recents",
    "Session",
    "SettingInfo",
    "Settings",
    "SettingsFile",
    "TargetChoice",
    "add_recent",
    "read_recents",
    "read_settings",
    "write_settings",
]
