"""What all tests share: one thread each, since two run side by side, and where the real data is."""

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
    """A model folder whose model knows its task (`trained.py`)."""
    from trained import model_folder

    return model_folder(tmp_path_factory.mktemp("trained") / "model")


@pytest.fixture(scope="session")
def data() -> Path:
    folder = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real data is missing: {folder} (set REGARD_DATA)")
    return folder
