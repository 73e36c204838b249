"""The model behind a recording, those included that were made before recordings held it; and what it is called."""

from pathlib import PurePath

from delassus.errors import FileError
from delassus.io.recording import Recording
from delassus.model.model import Model
from delassus.scenes import find


def model_of(recording: Recording) -> Model:
    """What the recording holds, or the scene that it was made of, built again."""
    about = recording.about
    if recording.has_model or not about.scene:
        return recording.model
    model = find(about.scene).build(**about.parameters).model
    if model.hash != about.model:
        raise FileError(
            f"{recording}: holds no model, and the scene {about.scene!r} is another one by now: record it again"
        )
    return model


def title_of(recording: Recording) -> str:
    """The scene's name; of a model from a file its name and its folder's, not where it lies on somebody's disk."""
    return "/".join(PurePath(recording.about.scene).parts[-2:])
