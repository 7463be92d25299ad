"""Pages: what each screen shows, made by pure functions and frozen.

A panel asks for a page and paints it; whatever needs an ``if`` about tensors is decided here.
One module per screen; the room's front door ``ruda.session`` offers all of them.
"""

from ruda.session.pages.batch import BatchPage as BatchPage
from ruda.session.pages.batch import Tile as Tile
from ruda.session.pages.batch import batch_page as batch_page
from ruda.session.pages.diff import DiffLine as DiffLine
from ruda.session.pages.diff import DiffPage as DiffPage
from ruda.session.pages.inspector import HistogramView as HistogramView
from ruda.session.pages.inspector import ValuesPage as ValuesPage
from ruda.session.pages.inspector import values_page as values_page
from ruda.session.pages.rules import ChangeLine as ChangeLine
from ruda.session.pages.tensors import SortKey as SortKey
from ruda.session.pages.tensors import TensorPage as TensorPage
from ruda.session.pages.tensors import TensorRow as TensorRow
