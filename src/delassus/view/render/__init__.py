"""Pictures and films of recordings, drawn by VTK without a screen (extra `render`).

VTK, through pyvista, because its wheels bring a software renderer of their own: nothing else that installs from PyPI
draws on a machine without GPU and X (pyrender needs the system's OSMesa or EGL). Its shadow maps take three times as
long as the picture, so shadows are the solids themselves, laid flat onto the ground along the light."""
