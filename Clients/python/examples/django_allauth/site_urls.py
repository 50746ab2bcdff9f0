"""The site's pages: who is signed in, and allauth's."""

from django.http import HttpRequest, JsonResponse
from django.urls import include, path


def home(request: HttpRequest) -> JsonResponse:
    """Who is signed in."""
    name = request.user.get_full_name() if request.user.is_authenticated else None
    return JsonResponse({"name": name, "email": getattr(request.user, "email", None)})


urlpatterns = [path("", home), path("accounts/", include("allauth.urls"))]
