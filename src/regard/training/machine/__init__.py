"""What this machine can do: precisions, memory, speed, and how long a training will take."""
