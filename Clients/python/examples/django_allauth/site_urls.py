"""The site's pages: a page that shows who is signed in, and allauth's pages."""

from django.http import HttpRequest, JsonResponse
from django.urls import include, path


def home(request: HttpRequest) -> JsonResponse:
    """Shows who is signed in."""
    name = request.user.get_full_name() if request.user.is_authenticated else None
    return JsonResponse({"name": name, "email": getattr(request.user, "email", None)})


urlpatterns = [path("", home), path("accounts/", include("allauth.urls"))]
