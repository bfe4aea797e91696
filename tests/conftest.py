"""What all tests share: one thread each, since two run side by side, and where the real data is."""

import fcntl
import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("house", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("house")


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder whose model knows its task (`trained.py`): the first process that needs it trains it for all."""
    from trained import model_folder

    base = tmp_path_factory.getbasetemp()
    place = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (place / "trained.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = place / "trained"
        return folder if (folder / "regard.json").exists() else model_folder(folder)


@pytest.fixture(scope="session")
def data() -> Path:
    folder = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real data is missing: {folder} (set REGARD_DATA)")
    return folder
