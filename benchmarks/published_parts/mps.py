"""NVIDIA's service by which kernels of several processes run on one GPU at the same time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def start(out: Path) -> bool:
    """Starts the service; False where it cannot be had."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not control:
        print("There is no nvidia-cuda-mps-control here: the processes take turns on the GPU.")
        return False
    folder = out / "mps"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": str(folder.resolve()), "CUDA_MPS_LOG_DIRECTORY": str(folder.resolve())}
    probe = "import torch; (torch.ones(4, device='cuda') + 1).sum().item()"
    try:
        subprocess.run([control, "-d"], check=True, timeout=30)
        subprocess.run([sys.executable, "-c", probe], check=True, timeout=60)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"MPS does not work here ({error}): the processes take turns on the GPU.")
        stop()
        for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
            os.environ.pop(name, None)
        return False
    print("MPS is on.", flush=True)
    return True


def stop() -> None:
    """Ends it."""
    subprocess.run([str(shutil.which("nvidia-cuda-mps-control"))], input=b"quit\n", check=False, timeout=30)
