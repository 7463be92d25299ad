from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ruda.session.pages.folding import distinct


@given(st.lists(st.integers(-5, 5)))
def test_every_value_once_in_order(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))
